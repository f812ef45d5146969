package tenure

import (
	"context"
	"errors"
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
}

// ask puts the question to the store until it is granted, or refused for good. The caller is inside the gate, and stays
// there: with the lease, or with the error. A lease that is granted as ctx ends is returned.
func (l *Locker) ask(ctx context.Context, q *question) (*Lease, error) {
	var limit time.Duration
	if !q.wait {
		limit = bound(l.terms.TTL)
	}
	asking := newAskContext(ctx, l.group.closing, limit)
	defer asking.end()
	var inTheWay error
	for try := 0; ; try++ {
		lease, err := l.askOnce(asking, q)
		if err == nil {
			return lease, nil
		}
		over := asking.Err() != nil
		if !over || errors.Is(err, ErrHeld) || inTheWay == nil {
			inTheWay = err
		}
		switch {
		case over && (q.wait || ctx.Err() != nil || l.group.closed()):
			return nil, l.gaveUp(ctx, q.name, inTheWay)
		case !q.wait, !worthwhile(err):
			return nil, err
		case !sleep(asking, pause(err, try)):
			return nil, l.gaveUp(ctx, q.name, inTheWay)
		}
	}
}

// askOnce sends one acquisition, and sees to it that nothing of it is left behind unless it becomes a lease.
func (l *Locker) askOnce(ctx context.Context, q *question) (*Lease, error) {
	h := l.newHold(q)
	if q.group == nil {
		l.s.queue.Occupy(q.key, h)
	}
	grant, err := l.s.store.Acquire(ctx, &h.req)
	if err == nil {
		lease, failed := h.begin(l, grant)
		if failed == nil {
			return lease, nil
		}
		l.s.cleaner.addUnused(h, driver.Instant(0))
		return nil, outcome(q.name, failed)
	}
	if sent, unknown := mayTakeEffect(err); unknown {
		l.s.cleaner.addUnused(h, sent)
	}
	if holder, queued := h.queuedBehind(); queued && !errors.As(err, new(*driver.HeldError)) && ctx.Err() != nil {
		return nil, &HeldError{Name: q.name, Holder: holder}
	}
	return nil, outcome(q.name, err)
}

func (l *Locker) newHold(q *question) *hold {
	h := &hold{s: l.s, asker: l, gate: q.key, group: q.group, index: -1}
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
		return held.RetryAfter
	}
	longest := min(maxPause, minPause<<min(try, 10))
	return longest/2 + rand.N(longest/2+1)
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
