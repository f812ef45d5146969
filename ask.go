package tenure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// The pauses between questions to a store that cannot queue us, or that fails: they double, with jitter, so that many
// waiters neither come at once nor melt the store.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// question is what one caller asks the store, again and again under new acquisition numbers.
type question struct {
	name, key string
	group     *slotGroup    // nil: the name itself is wanted
	slots     []driver.Slot // otherwise any of these
	wait      bool
	by        driver.Instant // when a question without wait must be answered; zero: as soon as bound says
	// leave goes out of the gates that the caller is in, as the hold that said so, when the question has failed.
	leave func(by *hold)

	last     *hold // that was asked for
	troubled bool  // the store did not answer the last time
}

// ask puts the question to the store until it is granted, or refused for good. The caller is inside the gate, and stays
// there with a lease. With an error it is outside, or will be as soon as what is unknown has been cleaned up. A lease that
// is granted as ctx ends is returned.
func (l *Locker) ask(ctx context.Context, q *question) (*Lease, error) {
	asking := newAskContext(ctx, l.group, q.by)
	if !q.wait && q.by.IsZero() {
		asking.limit = bound(l.terms.TTL)
	}
	defer asking.end()
	lease, unknown, err := l.askUntil(asking, q)
	if err == nil {
		return lease, nil
	}
	last := q.last
	if unknown != nil {
		leave := q.leave
		unknown.then(func() { leave(last) })
	} else {
		q.leave(last)
	}
	switch {
	case ctx.Err() != nil || l.group.closed():
		return nil, l.gaveUp(ctx, q.name, err)
	case asking.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		return nil, tooLate(q.name, err)
	}
	return nil, err
}

// askUntil is ask without the ends. Its error says what was in the way. Unknown is what may be left of the last
// acquisition.
func (l *Locker) askUntil(ctx context.Context, q *question) (lease *Lease, unknown *remains, inTheWay error) {
	for try := 0; ; try++ {
		lease, unknown, err := l.askOnce(ctx, q)
		if err == nil {
			return lease, nil, nil
		}
		if ctx.Err() == nil || errors.Is(err, ErrHeld) || inTheWay == nil {
			inTheWay = err
		}
		if !q.wait || ctx.Err() != nil || !worthwhile(err) || isGap(err) {
			return nil, unknown, inTheWay
		}
		if _, queued := q.last.queuedBehind(); queued {
			try = 0 // that was no failure to reach the store
		}
		// Until it is known that nothing is left, asking again could be granted beside ourselves.
		if unknown != nil && !waitFor(ctx, unknown.gone) || !sleep(ctx, pause(err, try)) {
			return nil, unknown, inTheWay
		}
	}
}

// askOnce sends one acquisition, and sees to it that nothing of it is left behind unless it becomes a lease.
func (l *Locker) askOnce(ctx context.Context, q *question) (*Lease, *remains, error) {
	h := l.newHold(q)
	grant, err := l.s.acquire(ctx, &h.req)
	if err == nil {
		lease, failed := h.begin(l, grant)
		if failed == nil {
			return lease, nil, nil
		}
		return nil, l.s.cleaner.addUnused(h, 0), outcome(q.name, failed)
	}
	var unknown *remains
	if sent, may := mayTakeEffect(err); may {
		unknown = l.s.cleaner.addUnused(h, sent)
	}
	if holder, queued := h.queuedBehind(); queued && ctx.Err() != nil {
		return nil, unknown, l.waitedBehind(q.name, holder, err)
	}
	err = outcome(q.name, err)
	if errors.Is(err, ErrUnavailable) && ctx.Err() == nil {
		h.fails(err)
		if q.wait && !q.troubled {
			l.noteTrouble(q.name, err)
		}
		q.troubled = true
	} else {
		q.troubled = false
	}
	return nil, unknown, err
}

// waitedBehind is the error of a wait in the store's queue that ended with its context.
func (l *Locker) waitedBehind(name string, holder Holder, err error) error {
	var held *driver.HeldError
	if errors.As(err, &held) {
		holder = held.Holder
	}
	return &HeldError{Name: name, Holder: holder}
}

// tooLate is the error of a question that had a bound of its own.
func tooLate(name string, err error) error {
	if errors.Is(err, ErrUnknown) {
		return fmt.Errorf("%q: %w: %w: it has not answered in time", name, ErrUnavailable, ErrUnknown)
	}
	return fmt.Errorf("%q: %w: it has not answered in time", name, ErrUnavailable)
}

func (l *Locker) newHold(q *question) *hold {
	h := &hold{s: l.s, asker: l, group: q.group, index: -1}
	if q.last != nil {
		if trouble := q.last.trouble(); trouble != nil {
			h.fails(trouble) // until the next answer
		}
	}
	h.req = driver.Request{
		Ref:     driver.Ref{Name: q.name, Key: q.key, Acq: l.s.acqs.Add(1), Mode: l.mode},
		Slots:   q.slots,
		Wait:    q.wait,
		Terms:   l.terms,
		Holder:  l.opts.Holder,
		OncePer: l.opts.OncePer,
		Gap:     l.opts.MinHold,
		Watch:   h,
	}
	if q.last = h; q.group == nil {
		l.s.queue.Occupy(q.key, h)
	}
	return h
}

// mayTakeEffect says whether an acquisition that failed with err may be granted all the same, and when it was sent: now,
// as far as is known, if the driver did not say.
func mayTakeEffect(err error) (sent driver.Instant, unknown bool) {
	var held *driver.HeldError
	var done *driver.DoneError
	var fault *driver.Fault
	switch {
	case errors.As(err, &held), errors.As(err, &done):
		return 0, false
	case errors.As(err, &fault):
		return fault.Sent, fault.Kind == driver.Unknown
	}
	return driver.Now(), true
}

// worthwhile says whether asking again can help.
func worthwhile(err error) bool { return errors.Is(err, ErrHeld) || errors.Is(err, ErrUnavailable) }

// pause is how long to wait before asking again.
func pause(err error, try int) time.Duration {
	var held *HeldError
	if errors.As(err, &held) && held.RetryAfter > 0 {
		return held.RetryAfter + rand.N(min(held.RetryAfter/8, maxPause)+1)
	}
	longest := min(maxPause, minPause<<min(try, 10))
	return longest/2 + rand.N(longest/2+1)
}

// isGap says that nobody holds the name, and MinHold has not passed.
func isGap(err error) bool {
	var held *HeldError
	return errors.As(err, &held) && held.Gap
}

// waitFor waits for a channel to be closed, and says whether ctx let it.
func waitFor(ctx context.Context, closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	case <-ctx.Done():
		return false
	}
}

// sleep waits, and says whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
