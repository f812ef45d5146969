package quorum

import (
	"errors"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/trust"
)

// world is what is assumed of the nodes in a history.
type world uint8

const (
	// wordKept: a key lives as long as it should by a clock that drifts within bounds. Nodes restart, with all, some or none of
	// their data, and then rest. The clocks from which they number are apart by less than the rest.
	wordKept world = iota
	// wordBroken: keys go at any moment, and clocks are apart and step as they like. Counters are kept.
	wordBroken
	// counterLost: keys go at any moment, and so does all that a node has, without rest; but then it is away for longer than the
	// clocks are apart.
	counterLost
	worlds
)

func (w world) String() string { return [...]string{"WordKept", "WordBroken", "CounterLost"}[w] }

// rules are those of a run. The zero value is the right ones.
type rules struct {
	script scriptRules
	number func(*state, driver.Instant) // nil: the right one
	fewer  int                          // than a majority
}

// tally counts what was seen in histories.
type tally struct {
	histories, grants, overlaps, same, falls, stranded int
	topUps, late                                       int
	// passed counts grants that were handed out after a higher one, beside which they had been asked for: only where the nodes
	// break their word.
	passed int
}

func (t *tally) count(o tally) {
	t.histories += o.histories
	t.grants += o.grants
	t.overlaps += o.overlaps
	t.same += o.same
	t.falls += o.falls
	t.stranded += o.stranded
	t.topUps += o.topUps
	t.late += o.late
	t.passed += o.passed
}

// actor is one process. It has one claim at a time.
type actor struct {
	claim  int // index, from 1; zero: none
	tries  int
	paused driver.Instant // until then
}

// fakeClaim is a claim in a history.
type fakeClaim struct {
	*state
	actor   int
	asking  bool
	holding bool
	stalled bool // holds on, and does nothing any more
	renewal *round
	trust   trust.Trust
	handed  driver.Instant
}

// history is one run of the real state over fake nodes.
type history struct {
	seed   uint64
	world  world
	rules  rules
	random dice
	agenda
	now    driver.Instant
	nodes  []fakeNode
	actors []actor
	claims []fakeClaim
	used   []*state // of earlier histories
	left   int      // claims that may still begin
	harsh  int      // how often messages go wrong, of 100
	fleet  int      // how often something befalls a node right after a request, of 100
	hasty  bool     // the pauses between claims, and the leases, are short
	// restored: a snapshot came back, and with it perhaps a key that had been removed.
	restored bool
	tally
}

var fakeTerms = driver.Terms{TTL: fakeTTL, Drift: 0.16, Margin: fakeTTL / 50}

// play runs the history of a seed.
func (h *history) play(seed uint64, w world, r rules) {
	h.seed, h.world, h.rules = seed, w, r
	h.random = dice(seed<<8 | uint64(w))
	h.clear()
	h.now, h.restored = start, false
	h.nodes, h.actors, h.claims = h.nodes[:0], h.actors[:0], h.claims[:0]
	h.left = 3 + h.random.IntN(4)
	h.hasty, h.fleet = h.percent(50), []int{0, 2, 10, 25}[h.random.IntN(4)]
	if h.world == wordKept {
		h.fleet /= 5
	}
	h.harsh = []int{0, 5, 20, 40}[h.random.IntN(4)]
	h.histories++
	h.makeNodes()
	for i := range 2 + h.random.IntN(3) {
		h.actors = append(h.actors, actor{})
		h.add(event{kind: evWake, claim: i, at: h.soon(h.pause())})
	}
	for range h.random.IntN(6) {
		h.add(event{kind: evTrouble, at: h.soon(4 * fakeTTL)})
	}
	for len(h.heap) > 0 {
		e := h.next()
		h.now = e.at
		h.happen(e)
	}
}

func (h *history) makeNodes() {
	count := 3
	if h.random.IntN(5) == 0 {
		count = 5
	}
	apart := fakeTTL / 2
	switch h.world {
	case wordBroken:
		apart = []time.Duration{0, fakeTTL / 10, 100 * fakeTTL}[h.random.IntN(3)]
	case counterLost:
		apart = fakeTTL / 10
	}
	ahead := h.world == wordBroken && h.percent(50) // the counters are above all clocks, which then help nothing
	for range count {
		n := fakeNode{
			rules: &h.rules.script, offset: time.Duration(h.random.Float64() * float64(apart)), rate: 0.92 + 0.16*h.random.Float64(),
		}
		if ahead {
			n.last = 2*fakeEpoch + h.random.Int64N(3)
		}
		h.nodes = append(h.nodes, n)
	}
}

// pause is the longest pause between two claims of an actor.
func (h *history) pause() time.Duration {
	if h.hasty {
		return 2 * time.Millisecond
	}
	return fakeTTL
}

// soon is a moment within d.
func (h *history) soon(d time.Duration) driver.Instant {
	return h.now.Add(time.Duration(h.random.Int64N(int64(d) + 1)))
}

func (h *history) percent(p int) bool { return h.random.IntN(100) < p }

// happen lets one event take place.
func (h *history) happen(e event) {
	if a := h.whose(e); a != nil && h.now.Before(a.paused) {
		e.at = a.paused // a process that is stopped sees all that comes when it goes on, in any order
		h.add(e)
		return
	}
	switch e.kind {
	case evTrouble:
		h.trouble(&h.nodes[h.random.IntN(len(h.nodes))])
	case evWake:
		h.wake(e.claim)
	case evRun:
		h.run(e)
	case evPause:
		h.actors[e.claim].paused = h.soon(2 * fakeTTL)
	default:
		h.toClaim(e)
		h.follow(e.claim)
	}
}

// whose is the process that an event comes to.
func (h *history) whose(e event) *actor {
	switch e.kind {
	case evTrouble, evRun, evPause:
		return nil
	case evWake:
		return &h.actors[e.claim]
	}
	return &h.actors[h.claims[e.claim-1].actor]
}

// wake has an actor begin a claim.
func (h *history) wake(index int) {
	a := &h.actors[index]
	if a.claim != 0 || h.left == 0 {
		return
	}
	h.left--
	c := fakeClaim{state: h.newState(), actor: index, asking: true}
	if h.rules.number != nil {
		c.number = h.rules.number
	}
	c.majority -= h.rules.fewer
	c.acquire(h.now, h.random.Float64(), a.tries)
	h.claims = append(h.claims, c)
	a.claim = len(h.claims)
	if h.percent(5) {
		h.add(event{kind: evCancel, claim: a.claim, at: h.soon(fakeTimeout)})
	}
	if h.percent(10) {
		h.add(event{kind: evPause, claim: index, at: h.soon(fakeTimeout / 2)})
	}
	h.follow(a.claim)
}

// newState is a new state in the memory of an old one.
func (h *history) newState() *state {
	s := newState(len(h.nodes), fakeTTL, fakeTimeout)
	if n := len(h.claims); n < len(h.used) {
		old := h.used[n]
		s.calls, s.out = old.calls[:0], old.out[:0]
		h.used[n] = s
	} else {
		h.used = append(h.used, s)
	}
	return s
}

// toClaim tells a claim's state what has happened to it.
func (h *history) toClaim(e event) {
	c := &h.claims[e.claim-1]
	switch e.kind {
	case evCancel:
		c.cancel(h.now)
	case evRenew:
		if c.holding && !c.stalled && c.renewal == nil {
			c.trust.Sending(h.now)
			c.renewal = c.renew(h.now)
		}
	case evLeave:
		if c.holding && !c.stalled {
			h.leave(c)
		}
	case evSend:
		h.transmit(e.claim, e.s)
	case evAnswer:
		if e.refused {
			c.answer(h.now, e.s.id, Answer{}, errRefused)
		} else {
			c.answer(h.now, e.s.id, Answer{Standing: e.standing, Candidate: e.candidate}, nil)
		}
	case evSilence:
		c.answer(h.now, e.s.id, Answer{}, errTimeout)
	}
}

var errRefused = passing(ErrNoMajority)

// follow does what the owner of a claim does next, and sends what its state wants to be sent.
func (h *history) follow(index int) {
	c := &h.claims[index-1]
	if c.asking && c.attempt.over {
		c.asking = false
		a := &h.actors[c.actor]
		if c.attempt.err == nil {
			a.tries = 0
			h.granted(index)
		} else {
			a.tries, a.claim = a.tries+1, 0
			h.add(event{kind: evWake, claim: c.actor, at: h.now.Add(c.attempt.backoff)})
		}
	}
	if c.holding && c.renewal != nil && c.renewal.over {
		h.proved(index)
	}
	for _, s := range c.take() {
		if h.now.Before(s.at) {
			h.add(event{kind: evSend, claim: index, s: s, at: s.at})
		} else {
			h.transmit(index, s)
		}
	}
	if c.ended && len(c.calls) == 0 {
		for i := range h.nodes {
			h.strands(index, &h.nodes[i])
		}
	}
}

// proved takes the outcome of a renewal.
func (h *history) proved(index int) {
	c := &h.claims[index-1]
	r := c.renewal
	c.renewal = nil
	switch {
	case errors.Is(r.err, driver.ErrNotOurs):
		h.leave(c)
		return
	case r.err != nil:
		c.trust.Failed(h.now, h.random.Float64())
	case !c.trust.Renewed(h.now, driver.Proof{Sent: r.sent, Valid: fakeTTL}):
		h.leave(c)
		return
	}
	h.add(event{kind: evRenew, claim: index, at: c.trust.Due()})
}

// leave ends the work, then gives the claim back.
func (h *history) leave(c *fakeClaim) {
	c.holding = false
	c.release(h.now)
	a := &h.actors[c.actor]
	a.claim = 0
	h.add(event{kind: evWake, claim: c.actor, at: h.soon(h.pause())})
}
