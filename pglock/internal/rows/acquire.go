package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// maxRaces is how often in a row a request that found a name free, and then somebody quicker in it, is asked again.
const maxRaces = 10

// Acquire asks for one grant, in one statement. With req.Wait it waits, and asks again when it is woken or time has passed.
//
// After a grant, Proof.Sent is the sending of the very statement that made it, also of one to a waiter. After a
// *HeldError or *DoneError nothing of the request is left. After an Unknown fault with Sent, a statement is on its way;
// without Sent, only the entry among the waiters is left, which nobody minds for longer than [slack] after its next
// question would have been due. Abandon undoes both.
func (s *Store) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, &driver.Fault{Kind: driver.Passing, Err: err}
	}
	if err := supported(req); err != nil {
		return driver.Grant{}, err
	}
	c, closed, err := s.claims.add(req)
	switch {
	case closed:
		return driver.Grant{}, s.closedFault()
	case err != nil:
		return driver.Grant{}, err
	}
	ttl := req.Terms.TTL
	if ttl <= 0 {
		ttl = s.info.TTL
	}
	grant, err := s.ask(ctx, newQuestion(c, req, micros(ttl)), ttl)
	var fault *driver.Fault
	if err != nil && !(errors.As(err, &fault) && (fault.Kind == driver.Unknown || errors.Is(err, driver.ErrClosed))) {
		s.claims.remove(c.acq)
	}
	return grant, err
}

// supported refuses what lease rows cannot do.
func supported(req *driver.Request) error {
	switch {
	case req.Mode == driver.Shared:
		return driver.Unsupported("a shared grant")
	case len(req.Slots) > 0 && (req.OncePer > 0 || req.Gap > 0):
		return driver.Unsupported("OncePer and Gap with slots")
	}
	return nil
}

// ask asks until there is an answer that ends it.
func (s *Store) ask(ctx context.Context, q *question, ttl time.Duration) (driver.Grant, error) {
	w := &wait{s: s, q: q, pace: newPace(ttl)}
	defer w.end()
	for races := 0; ; {
		q.pause = w.pace.promise()
		if err := w.askOnce(ctx); err != nil {
			return driver.Grant{}, w.leftBehind(err)
		}
		v := &q.verdict
		switch {
		case v.won:
			return s.granted(q, ttl)
		case v.done:
			w.leave(ctx)
			next := (v.ran/q.once + 1) * q.once
			return driver.Grant{}, &driver.DoneError{Last: at(v.ran), Next: at(next)}
		case v.raced && races < maxRaces:
			races++
			continue // somebody was quicker: who, the next statement sees
		case v.waits:
			w.queued()
		default:
			w.leave(ctx)
			left := time.Duration(v.leftOfGap) * time.Microsecond
			return driver.Grant{}, &driver.HeldError{Holder: v.holder, RetryAfter: left, Gap: v.free && left > 0}
		}
		races = 0
		if err := w.sleep(ctx); err != nil {
			return driver.Grant{}, w.leftBehind(err)
		}
	}
}

// granted makes the grant of a question that was answered yes.
func (s *Store) granted(q *question, ttl time.Duration) (driver.Grant, error) {
	v := &q.verdict
	s.claims.grant(q.claim, v.name)
	if v.number > driver.MaxNumber {
		return driver.Grant{}, &driver.Fault{Err: fmt.Errorf("the row of %q has the number %d, which is above the highest possible", v.name, v.number)}
	}
	return driver.Grant{
		Number: v.number,
		Proof:  driver.Proof{Sent: q.sent, Valid: ttl},
		Slot:   q.slot(v.name),
		Since:  at(v.granted),
	}, nil
}
