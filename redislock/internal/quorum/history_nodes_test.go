package quorum

import (
	"math"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/trust"
)

// transmit sends a request, which may be lost, run late, or lose its answer. No request runs later than a TTL after its sending.
func (h *history) transmit(index int, s send) {
	there, back := h.soon(2*time.Millisecond), time.Duration(h.random.Int64N(int64(2*time.Millisecond)))
	runs, answered := true, true
	if h.percent(h.harsh) {
		switch h.random.IntN(4) {
		case 0:
			runs, answered = false, false
		case 1:
			answered = false
		case 2:
			there = h.soon(fakeTTL)
			h.late++
		case 3:
			back = time.Duration(h.random.Int64N(int64(fakeTTL)))
		}
	}
	var arrives driver.Instant
	if answered {
		arrives = there.Add(back)
	}
	if timeout := h.now.Add(fakeTimeout); !answered || timeout.Before(arrives) {
		arrives = 0
		h.add(event{kind: evSilence, claim: index, s: s, at: timeout})
	}
	if runs {
		h.add(event{kind: evRun, claim: index, s: s, at: there, answered: arrives})
	}
}

// run has a node execute a request.
func (h *history) run(e event) {
	n := &h.nodes[e.s.node]
	e.kind = evAnswer
	if e.refused = h.now.Before(n.down); !e.refused {
		a := n.run(h.now, e.claim, e.s)
		e.standing, e.candidate = a.Standing, a.Candidate
		if e.s.op == opAcquire && a.Standing == Ours {
			if e.s.number != 0 {
				h.topUps++
			}
			if c := &h.claims[e.claim-1]; c.ended && len(c.calls) == 0 {
				h.strands(e.claim, n)
			}
		}
	}
	if h.fleet > 0 && h.percent(h.fleet) {
		h.befall(n)
	}
	if e.answered != 0 {
		e.at = e.answered
		h.add(e)
	}
}

// trouble befalls a node, unless it only writes its snapshot.
func (h *history) trouble(n *fakeNode) {
	if h.percent(20) {
		n.saved = n.fakeData
		return
	}
	h.befall(n)
}

// befall is what the world does to a node.
func (h *history) befall(n *fakeNode) {
	switch h.world {
	case wordKept:
		n.down = h.soon(fakeTTL / 5)
		switch h.random.IntN(3) {
		case 0:
			n.fakeData = fakeData{}
		case 1:
			n.fakeData = n.saved
			h.restored = true
		}
		n.rests = n.later(n.down, fakeTTL)
	case wordBroken:
		if h.percent(70) {
			n.owner = 0
		} else {
			n.offset += time.Duration((h.random.Float64() - 0.5) * 4 * float64(fakeTTL))
		}
	case counterLost:
		n.owner = 0
		if h.percent(50) {
			n.last = 0
			n.down = h.now.Add(fakeTTL/10 + time.Millisecond)
		}
	}
}

// granted looks at a grant that the state gives, and hands it out if it is still to be trusted.
func (h *history) granted(index int) {
	c := &h.claims[index-1]
	h.grants++
	number := c.attempt.number
	c.trust = trust.Start(fakeTerms, driver.Proof{Sent: c.attempt.sent, Valid: fakeTTL})
	hands := c.trust.Holds(h.now)
	for i := range h.claims {
		o := &h.claims[i]
		if o == c || o.attempt.err != nil || !o.attempt.over {
			continue
		}
		if o.attempt.number == number {
			h.same++
		}
		if !hands || o.handed == 0 {
			continue
		}
		if o.attempt.number > number {
			if h.world == wordKept || o.handed.Before(c.attempt.sent) {
				h.falls++
			} else {
				h.passed++
			}
		}
		if h.world == wordKept && o.holding && h.now.Before(o.trust.Until()) {
			h.overlaps++
		}
	}
	if !hands {
		h.leave(c)
		return
	}
	c.holding, c.handed, c.stalled = true, h.now, h.percent(15)
	if c.stalled {
		h.actors[c.actor].claim = 0 // the process was killed, and another comes in its place
		h.add(event{kind: evWake, claim: c.actor, at: h.soon(h.pause())})
		return
	}
	h.add(event{kind: evRenew, claim: index, at: c.trust.Due()})
	hold := time.Duration(-math.Log(1-h.random.Float64()) * float64(h.pause()) / 2)
	h.add(event{kind: evLeave, claim: index, at: h.now.Add(min(hold, 3*fakeTTL))})
}

// strands counts a key that nobody is going to remove, for much longer than its clock explains.
func (h *history) strands(index int, n *fakeNode) {
	if !h.restored && n.standing(h.now, index) == Ours && n.expires.Sub(h.now) > fakeTTL/2 {
		h.stranded++
	}
}
