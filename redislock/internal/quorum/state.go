package quorum

import (
	"errors"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// op is what a node is asked.
type op uint8

const (
	opAcquire op = iota // also tops up
	opWriteBack
	opRenew
	opRelease
)

// send is a request that the state wants to be sent. Its outcome, or that its time-out has passed, is given to state.answer.
type send struct {
	id     int
	node   int
	op     op
	number int64 // of opWriteBack, and the floor of opAcquire
	// at is when to send it: now, or later.
	at driver.Instant
}

// call is a request on its way.
type call struct {
	send
	round *round // whose answers it counts among; nil: of none
}

// round counts the answers to one question that was put to all nodes.
type round struct {
	sent              driver.Instant
	pending           int
	ours, not, failed int
	faults            []error
	over              bool
	err               error
}

// member is what is known of one node.
type member struct {
	// ours says that the node may have our key for all that it has answered.
	ours bool
	// empty says that nobody had the key there at the last renewal.
	empty bool
	// setting counts the requests on their way that may set our key.
	setting int
	// unsure is when the last such request was sent that will have no answer. It may run until a TTL later. Zero: there is none.
	unsure driver.Instant
	// touched is when something was last sent that sets or prolongs our key: a TTL after it has run, nothing is left.
	touched driver.Instant
	// pause is how long to wait after the next clean-up that fails.
	pause time.Duration
	// sweeps counts the clean-ups on their way, or to be sent later.
	sweeps int
}

// state is all that is known of one claim, and decides what comes next. It is pure: the time and all chance are passed in,
// and what is to be sent is put in out, for the caller to take. One caller at a time.
type state struct {
	ttl, timeout time.Duration
	majority     int
	members      []member
	calls        []call
	lastID       int
	out          []send

	attempt attempt
	// until is when the nodes stop keeping their word, as far as a majority has proved.
	until driver.Instant
	// lost: a majority has said that it is not ours. Nothing is set any more.
	lost bool
	// ended: the claim was given up or back. Nothing is set any more, and what appears all the same is removed.
	ended bool

	// number takes a majority of grants and leads to the lease: state.writeBack. Tests put known-bad rules here.
	number func(s *state, now driver.Instant)
}

func newState(nodes int, ttl, timeout time.Duration) *state {
	return &state{
		ttl: ttl, timeout: timeout, majority: nodes/2 + 1, members: make([]member, nodes),
		number: (*state).writeBack,
	}
}

// ask has a request sent.
func (s *state) ask(at driver.Instant, node int, op op, number int64, r *round) {
	s.lastID++
	c := call{send: send{id: s.lastID, node: node, op: op, number: number, at: at}, round: r}
	m := &s.members[node]
	switch op {
	case opAcquire:
		m.setting++
		m.touched = at
	case opRenew:
		m.touched = at
	case opRelease:
		m.sweeps++
	case opWriteBack:
	}
	if r != nil {
		r.pending++
	}
	s.calls = append(s.calls, c)
	s.out = append(s.out, c.send)
}

// take gives what is to be sent. It is valid until the state is used again.
func (s *state) take() []send {
	out := s.out
	s.out = s.out[:0]
	return out
}

// answer takes the outcome of a request at now. A second one of the same request is ignored, so that a time-out and a late
// answer may both be told.
func (s *state) answer(now driver.Instant, id int, a Answer, err error) {
	for i := range s.calls {
		if s.calls[i].id != id {
			continue
		}
		c := s.calls[i]
		last := len(s.calls) - 1
		s.calls[i] = s.calls[last]
		s.calls = s.calls[:last]
		s.note(c, a, err)
		switch c.op {
		case opAcquire:
			s.acquired(now, c, a, err)
		case opWriteBack:
			s.wrote(now, c, a, err)
		case opRenew:
			s.renewed(now, c, a, err)
		case opRelease:
			s.released(now, c, a, err)
		}
		return
	}
}

// note remembers what an outcome says of the node, whatever it means for the claim.
func (s *state) note(c call, a Answer, err error) {
	m := &s.members[c.node]
	switch c.op {
	case opAcquire:
		m.setting--
		if err != nil && mayRun(err) && (m.unsure == 0 || m.unsure.Before(c.at)) {
			m.unsure = c.at
		}
	case opRelease:
		m.sweeps--
	case opWriteBack, opRenew:
	}
	if err == nil && (a.Standing != Resting || c.op == opAcquire) { // a node that rests may have kept the key all the same
		m.ours = a.Standing == Ours && c.op != opRelease
	}
	if r := c.round; r != nil {
		r.count(a, err)
	}
}

func (r *round) count(a Answer, err error) {
	r.pending--
	switch {
	case err != nil:
		r.failed++
		r.faults = append(r.faults, err)
	case a.Standing == Ours:
		r.ours++
	default:
		r.not++
	}
}

// end closes a round.
func (r *round) end(err error) {
	if !r.over {
		r.over, r.err = true, err
	}
}

// settle closes a round as soon as a majority has said yes or no, or none can any more: the nodes that are silent cannot
// change it, so nobody waits for them. Yes and no are said by it; a fault, of that kind, by the round's error.
func (r *round) settle(majority int, kind driver.Kind) (yes, no bool) {
	switch {
	case r.over:
		return false, false
	case r.ours >= majority:
		r.end(nil)
		return true, false
	case r.not >= majority:
		r.end(driver.ErrNotOurs)
		return false, true
	case r.ours+r.pending < majority && r.not+r.pending < majority:
		r.end(&driver.Fault{Kind: kind, Sent: r.sent, Err: errors.Join(append(r.faults, ErrNoMajority)...)})
	}
	return false, false
}

// mayRun says whether a request that failed so may have had an effect, or may still.
func mayRun(err error) bool {
	var fault *driver.Fault
	return !errors.As(err, &fault) || fault.Kind == driver.Unknown
}
