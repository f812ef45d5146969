package tenure

import (
	"context"
	"errors"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Lease is one name held under one token, until it is released or lost. It is a value for one acquisition: never
// re-entrant, never revived, and unable to release a later one. Its methods may be called from many goroutines.
type Lease struct {
	hold    *hold
	locker  *Locker
	token   Token
	granted driver.Instant
	ends    driver.Instant // when MaxHold is up; zero: never

	// Guarded by hold.mu.
	over     error // nil while it lives, then what Err says
	done     chan struct{}
	works    *work
	settled  bool          // its release has ended
	result   error         // how
	settling chan struct{} // made by those who wait for that

	// Guarded by locker.group.mu.
	prev, next *Lease
}

// work is one context that ends with the lease.
type work struct {
	cancel     context.CancelCauseFunc
	stop       func() bool // takes back the call of forget
	gone       bool        // not in the list any more
	prev, next *work
}

// Name is the name that is held: the one that was asked for, or for a slot, the slot's.
func (l *Lease) Name() string { return l.hold.req.Name }

// Token is the fencing token. It stays readable when the lease is over, for logs; for a write take [Lease.Fence].
func (l *Lease) Token() Token { return l.token }

// Fence is what travels with a write to the protected resource. Once the lease is over it is the zero Fence, which every
// guard refuses.
func (l *Lease) Fence() Fence {
	if l.Err() != nil {
		return Fence{}
	}
	return Fence{Name: l.Name(), Token: l.token}
}

// Err is nil while the lease is held and trusted. After a loss it is a [*LostError], after Release [ErrReleased]. It
// reads the clock itself, so it is right at once after a pause; but a pause can come right behind it, which only a guard
// at the resource can make harmless.
func (l *Lease) Err() error {
	h, now := l.hold, driver.Now()
	h.mu.Lock()
	over, cause := l.over, error(nil)
	switch {
	case over != nil:
	case !h.trust.Holds(now):
		cause = errDeadline
	case !l.ends.IsZero() && !now.Before(l.ends):
		cause = ErrMaxHold
	}
	h.mu.Unlock()
	if cause == nil {
		return over
	}
	h.cut(l, cause)
	return l.ended()
}

// ended is Err without a look at the clock.
func (l *Lease) ended() error {
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	return l.over
}

// Done is closed when the lease is over, be it released or lost.
func (l *Lease) Done() <-chan struct{} {
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.over != nil {
			close(l.done)
		}
	}
	return l.done
}

// Until is the moment up to which the lease is trusted, as it stands: each renewal moves it on, up to [Options.MaxHold].
// After it, the holder must assume that somebody else has the name. It is the present moment when the lease is over.
func (l *Lease) Until() time.Time {
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	now := driver.Now()
	if l.over != nil {
		return time.Now()
	}
	until := l.hold.trust.Until()
	if !l.ends.IsZero() {
		until = min(until, l.ends)
	}
	return time.Now().Add(until.Sub(now))
}

// Context gives a context for the work under the lease. It ends when ctx ends; when the lease is released, with cause
// [ErrReleased]; or when the lease is lost, with a [*LostError] as cause: while the name is still ours where renewals
// failed, at once where the store says that it is not.
func (l *Lease) Context(ctx context.Context) context.Context {
	_ = l.Err() // a deadline that has passed is noticed here, at the latest
	under, cancel := context.WithCancelCause(ctx)
	w := &work{cancel: cancel}
	w.stop = context.AfterFunc(under, func() { l.forget(w) })
	l.hold.mu.Lock()
	over := l.over
	if over == nil && !w.gone {
		l.add(w)
	}
	l.hold.mu.Unlock()
	if over != nil {
		cancel(over)
	}
	return under
}

func (l *Lease) add(w *work) {
	if w.next = l.works; w.next != nil {
		w.next.prev = w
	}
	l.works = w
}

// forget drops a context that ended by itself, so that a long lease may have many.
func (l *Lease) forget(w *work) {
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	if w.gone {
		return
	}
	w.gone = true
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case l.works == w:
		l.works = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
}

// end marks the lease as over, with hold.mu held, and returns the contexts that the caller must cancel.
func (l *Lease) end(over error) *work {
	l.over = over
	if l.done != nil {
		close(l.done)
	}
	works := l.works
	for w := works; w != nil; w = w.next {
		w.gone = true // from here on the list is the caller's
	}
	l.works = nil
	return works
}

func (w *work) cancelAll(cause error) {
	for ; w != nil; w = w.next {
		w.stop()
		w.cancel(cause)
	}
}

// Release gives the name back: to the next caller in this process, or to the store, which passes it on. Call it when the
// work has ended and is joined. The lease's contexts end first.
//
// nil: the name was ours until now. [ErrLost]: the lease had been lost before, so the work may have overlapped with a
// successor's. [ErrReleased]: it was released already. Any other error, mostly [ErrUnavailable]: the store did not confirm;
// the clean-up goes on behind, and where the store frees by time, the grant ends with its TTL at the latest.
//
// It works although ctx is over: it takes only ctx's values, and a bound of its own, the smaller of 5 s and a third of
// the TTL.
func (l *Lease) Release(ctx context.Context) error {
	return l.hold.release(ctx, l)
}

// Descriptors duplicates the descriptors on which the lease's grant depends, for a guardian process; see
// [driver.Descriptors]. The error is [ErrUnsupported] where the store has none, and [ErrLost] when they are gone.
func (l *Lease) Descriptors() (driver.DescriptorSet, error) {
	store, ok := l.hold.s.store.(driver.Descriptors)
	if !ok {
		return driver.DescriptorSet{}, driver.Unsupported("descriptors to hand over")
	}
	if err := l.Err(); err != nil {
		return driver.DescriptorSet{}, err
	}
	set, err := store.Descriptors(l.hold.req.Ref)
	if errors.Is(err, driver.ErrNotOurs) {
		err = &LostError{Name: l.Name(), Token: l.token, At: time.Now(), Cause: err}
	}
	return set, err
}
