package quorum

import (
	"errors"
	"fmt"
	"time"

	"github.com/tenurelock/tenure/driver"
)

var (
	// ErrNoMajority says that too few nodes have answered, one way or the other.
	ErrNoMajority = errors.New("no majority of the nodes has answered alike")
	// ErrResting says that a node grants nothing yet since it has restarted.
	ErrResting = errors.New("a node has restarted, and rests until all that it had granted before is over")
	// errSlow: the validity was used up before the lease could be handed out.
	errSlow = errors.New("the nodes took longer to answer than a lease lives")
	// errSlipped: a majority granted, and not so many had the key still when the number was written back.
	errSlipped = errors.New("keys were gone before their grant was numbered")
	errTooHigh = errors.New("a node's number is above all that a token can carry")
	errGivenUp = errors.New("given up by the caller")
)

// attempt is the acquisition: first a majority must grant, then a majority must write the number back.
type attempt struct {
	round              // the first question; its sent is that of the grant
	candidates []int64 // of each node that granted; zero: it did not
	held       int
	holder     driver.Holder // one of those who stood in the way
	chance     float64
	tries      int

	number  int64 // zero until a majority has granted
	writing round
	// backoff is how long to wait before the next attempt, after a failure.
	backoff time.Duration
}

// acquire begins at now, before anything is sent. Chance is between 0 and 1, tries how many attempts have failed before.
func (s *state) acquire(now driver.Instant, chance float64, tries int) {
	s.attempt = attempt{round: round{sent: now}, candidates: make([]int64, len(s.members)), chance: chance, tries: tries}
	for node := range s.members {
		s.ask(now, node, opAcquire, 0, &s.attempt.round)
	}
}

// acquired takes the outcome of an acquire.
func (s *state) acquired(now driver.Instant, c call, a Answer, err error) {
	t := &s.attempt
	mine := c.round == &t.round
	switch {
	case err == nil && a.Standing == Ours && mine:
		t.candidates[c.node] = a.Candidate
	case err == nil && a.Standing == Held && mine:
		t.held++
		t.holder = a.Holder
	case err == nil && a.Standing == Resting && mine:
		t.faults = append(t.faults, ErrResting)
	}
	if s.ended {
		s.sweepLate(now, c.node)
		return
	}
	if !mine || t.over {
		return // a top-up, or a grant behind the majority: it counts when it is renewed
	}
	if t.number == 0 {
		s.tally(now)
		return
	}
	if t.candidates[c.node] > 0 && t.candidates[c.node] <= t.number {
		s.ask(now, c.node, opWriteBack, t.number, &t.writing)
	}
	s.tallyWritten(now)
}

// tally looks whether a majority has granted, or can no more.
func (s *state) tally(now driver.Instant) {
	t := &s.attempt
	if t.ours >= s.majority {
		for _, candidate := range t.candidates {
			t.number = max(t.number, candidate)
		}
		switch {
		case t.number > driver.MaxNumber:
			s.fail(now, &driver.Fault{Kind: driver.Lasting, Err: errTooHigh})
		case !now.Before(t.sent.Add(s.ttl)):
			s.fail(now, passing(errSlow))
		default:
			s.number(s, now)
		}
		return
	}
	if t.ours+t.pending >= s.majority {
		return
	}
	// Who is in the way? A name that is held, where a majority says so together with what was granted, is an ordinary answer;
	// nodes that failed or rest are not.
	others := t.failed + t.not - t.held
	switch {
	case t.held > 0 && t.ours+t.held >= s.majority:
		s.fail(now, nil)
	case others > len(s.members)-s.majority:
		s.fail(now, t.fault(len(s.members)-s.majority))
	}
}

// writeBack has the number written where the key is still ours. A node whose candidate is above it, which can only come later,
// is left out: see the package's comment.
func (s *state) writeBack(now driver.Instant) {
	for node, candidate := range s.attempt.candidates {
		if candidate > 0 {
			s.ask(now, node, opWriteBack, s.attempt.number, &s.attempt.writing)
		}
	}
}

// wrote takes the outcome of a write-back.
func (s *state) wrote(now driver.Instant, _ call, _ Answer, _ error) {
	if !s.attempt.over {
		s.tallyWritten(now)
	}
}

// tallyWritten looks whether a majority has written the number back, or can no more.
func (s *state) tallyWritten(now driver.Instant) {
	t := &s.attempt
	switch {
	case t.writing.ours >= s.majority && now.Before(t.sent.Add(s.ttl)):
		s.grant()
	case t.writing.ours >= s.majority:
		s.fail(now, passing(errSlow))
	case t.writing.ours+t.writing.pending+t.pending < s.majority: // a late grant may be written back, too
		s.fail(now, passing(errors.Join(append(t.writing.faults, errSlipped)...)))
	}
}

// grant hands the lease out.
func (s *state) grant() {
	s.until = s.attempt.sent.Add(s.ttl)
	s.attempt.end(nil)
}

// fail gives the attempt up. Whatever a node may have set is removed, where the answer is missing too; a node that has
// answered no has set nothing. An err of nil means that the name is held.
func (s *state) fail(now driver.Instant, err error) {
	t := &s.attempt
	t.backoff = s.pause(now)
	if err == nil {
		err = &driver.HeldError{Holder: t.holder, RetryAfter: t.backoff}
	}
	t.end(err)
	s.ended = true
	for node, m := range s.members {
		if m.ours || m.setting > 0 || m.unsure != 0 {
			s.sweep(now, node)
		}
	}
}

// cancel gives an attempt up that is not over yet.
func (s *state) cancel(now driver.Instant) {
	if !s.attempt.over {
		s.fail(now, passing(errGivenUp))
	}
}

// pause is a random back-off after a failure at now. Two that have split the nodes between them split them again if they come
// back together; so the pauses are spread over several times what an attempt takes, and over more after each failure.
func (s *state) pause(now driver.Instant) time.Duration {
	const least, most = 4 * time.Millisecond, time.Second
	window := max(4*now.Sub(s.attempt.sent), least) << min(s.attempt.tries, 8)
	window = min(window, most, s.ttl/3)
	return window/8 + time.Duration(s.attempt.chance*float64(window-window/8))
}

// fault is why too few nodes could grant: for good, if more than spare of them will not before somebody mends them.
func (t *attempt) fault(spare int) error {
	lasting := 0
	for _, err := range t.faults {
		var fault *driver.Fault
		if errors.As(err, &fault) && fault.Kind == driver.Lasting {
			lasting++
		}
	}
	kind := driver.Passing // what a node may have set is removed behind, and is no grant
	if lasting > spare {
		kind = driver.Lasting
	}
	return &driver.Fault{Kind: kind, Err: fmt.Errorf("too few nodes grant: %w", errors.Join(t.faults...))}
}

func passing(err error) error { return &driver.Fault{Kind: driver.Passing, Err: err} }
