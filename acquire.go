package tenure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// bound is how long one question to the store may take, where nobody's wait is meant.
func bound(ttl time.Duration) time.Duration { return min(5*time.Second, ttl/3) }

// acquire is every way to a lease: through the gate inside this process, then to the store.
func (l *Locker) acquire(ctx context.Context, name string, wait bool) (*Lease, error) {
	key, err := l.check(name)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("tenure: acquire %q: %w", name, contextError(ctx))
	}
	if err := l.group.enter(); err != nil {
		return nil, err
	}
	began := l.watchedSince()
	var lease *Lease
	if l.slots > 0 {
		lease, err = l.acquireSlot(ctx, name, key, wait)
	} else {
		lease, err = l.acquireName(ctx, name, key, wait)
	}
	if err != nil {
		l.group.leave()
		return nil, fmt.Errorf("tenure: acquire: %w", err)
	}
	l.noteGrant(ctx, lease, began)
	return lease, nil
}

// watchedSince reads the clock if somebody wants to hear how long callers wait.
func (l *Locker) watchedSince() (began driver.Instant) {
	if l.opts.Observer.Grant != nil || l.opts.Observer.Handoff != nil {
		began = driver.Now()
	}
	return began
}

func (l *Locker) noteGrant(ctx context.Context, lease *Lease, began driver.Instant) {
	observe := l.opts.Observer.Grant
	if lease.token&maxHandoffs != 0 {
		observe = l.opts.Observer.Handoff
	}
	if observe == nil {
		return
	}
	told := false
	defer func() {
		if !told { // it panicked: the caller will never have the lease
			_ = lease.Release(ctx)
		}
	}()
	observe(lease, lease.granted.Sub(began))
	told = true
}

func (l *Locker) acquireName(ctx context.Context, name, key string, wait bool) (*Lease, error) {
	for {
		lease, err := l.enter(ctx, name, key, wait)
		if lease != nil || err != nil {
			return lease, err
		}
		q := &question{name: name, key: key, wait: wait}
		q.leave = func(by *hold) { l.s.leave(key, l.mode == driver.Shared, by) }
		if lease, err = l.ask(ctx, q); err == nil {
			return lease, nil
		}
		var held *HeldError
		if !wait || !errors.As(err, &held) || !held.Gap {
			return lease, err
		}
		// The name is free for others, so this is no place to wait in.
		outside := newAskContext(ctx, l.group, 0)
		slept := sleep(outside, pause(err, 0))
		outside.end()
		if !slept {
			return nil, l.gaveUp(ctx, name, err)
		}
	}
}

// enter goes through the gate of a key, and waits before it. It returns a lease that was handed to it; or nil and nil when
// it is inside and has to ask the store; or the error, and is then outside.
func (l *Locker) enter(ctx context.Context, name, key string, wait bool) (*Lease, error) {
	queue, shared := l.s.queue, l.mode == driver.Shared
	if !wait {
		if queue.Try(key, shared) {
			return nil, nil
		}
		return nil, l.heldHere(name, key)
	}
	c := l.s.calls.Get().(*call)
	c.locker, c.lease = l, nil
	entered, before := queue.Enter(key, shared, c.waiter)
	if entered {
		l.s.calls.Put(c)
		return nil, nil
	}
	if before != nil && l.opts.Observer.Wait != nil {
		holder, _ := before.describe()
		l.noteWait(name, &holder)
	}
	// Close may have looked through the queue before we were in it.
	gaveUp := l.group.closed() || !wokenBefore(ctx, c.waiter.Woken())
	if gaveUp {
		if queue.Leave(key, c.waiter) {
			l.s.calls.Put(c)
			return nil, l.gaveUp(ctx, name, l.heldBehind(name, key, before))
		}
		<-c.waiter.Woken()
	}
	evicted, lease := c.waiter.Evicted(), c.lease
	c.lease = nil
	l.s.calls.Put(c)
	switch {
	case evicted:
		return nil, l.gaveUp(ctx, name, nil)
	case gaveUp && lease == nil: // let in, in the same instant
		l.s.leave(key, shared, nil)
		return nil, l.gaveUp(ctx, name, l.heldBehind(name, key, before))
	}
	return lease, nil
}

// wokenBefore waits, and says whether the waiter was woken before ctx was over.
func wokenBefore(ctx context.Context, woken <-chan struct{}) bool {
	over := ctx.Done()
	if over == nil {
		<-woken // half the price of a select
		return true
	}
	select {
	case <-woken:
		return true
	case <-over:
		return false
	}
}

// heldHere says that somebody of this process is in the way; or if that one waits for a store that does not answer, so.
func (l *Locker) heldHere(name, key string) error {
	held := &HeldError{Name: name}
	if h := l.s.queue.Inside(key); h != nil {
		var trouble error
		if held.Holder, trouble = h.describe(); trouble != nil {
			return trouble
		}
	}
	return held
}

// heldBehind is heldHere for a caller that has waited: if whoever is inside now knows nothing yet, it goes by the one who
// was there before it.
func (l *Locker) heldBehind(name, key string, before *hold) error {
	for _, h := range []*hold{l.s.queue.Inside(key), before} {
		if h == nil {
			continue
		}
		if holder, trouble := h.describe(); trouble != nil {
			return trouble
		} else if holder != (driver.Holder{}) {
			return &HeldError{Name: name, Holder: holder}
		}
	}
	return &HeldError{Name: name}
}

// gaveUp is the error of a wait that ended without a lease: it matches the context's error and what was in the way.
func (l *Locker) gaveUp(ctx context.Context, name string, inTheWay error) error {
	why := contextError(ctx)
	if ctx.Err() == nil {
		why = fmt.Errorf("this Locker is %w", ErrClosed)
	}
	if inTheWay == nil {
		return fmt.Errorf("gave up waiting for %q: %w", name, why)
	}
	return fmt.Errorf("gave up waiting for %q: %w: %w", name, why, inTheWay)
}

// contextError gives the context's error with its cause, if that says more.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
