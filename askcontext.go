package tenure

import (
	"context"
	"sync"
	"time"
)

// askContext is the context of a question to the store: it ends with the caller's, when the Locker is closed, and at a
// limit. It sets up none of that before somebody asks for Done, so that a driver that answers at once pays nothing.
type askContext struct {
	parent   context.Context
	closing  context.Context // the Locker's; nil: its closing does not matter
	deadline time.Time       // zero: none
	// limit, if positive, is how long it lasts from the first look at it: a driver that answers at once spares itself the
	// reading of a clock.
	limit time.Duration

	mu    sync.Mutex
	inner context.Context // once Done was asked for
	undo  func()
	ended bool
}

// newAskContext makes the context of a question. A zero deadline is none.
func newAskContext(parent, closing context.Context, deadline time.Time) *askContext {
	return &askContext{parent: parent, closing: closing, deadline: deadline}
}

// soon is that long from now.
func soon(d time.Duration) time.Time { return time.Now().Add(d) }

// Deadline is the earlier of the caller's and the limit.
func (c *askContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	limit := c.limited()
	c.mu.Unlock()
	at, ok := c.parent.Deadline()
	if !limit.IsZero() && (!ok || limit.Before(at)) {
		return limit, true
	}
	return at, ok
}

// limited gives the deadline, with mu held.
func (c *askContext) limited() time.Time {
	if c.limit > 0 {
		c.deadline, c.limit = soon(c.limit), 0
	}
	return c.deadline
}

// Done is closed when the question is over.
func (c *askContext) Done() <-chan struct{} { return c.setUp().Done() }

// Err says why the question is over.
func (c *askContext) Err() error {
	c.mu.Lock()
	inner, ended, deadline := c.inner, c.ended, c.limited()
	c.mu.Unlock()
	switch {
	case inner != nil:
		return inner.Err()
	case ended:
		return context.Canceled
	case c.parent.Err() != nil:
		return c.parent.Err()
	case c.closing != nil && c.closing.Err() != nil:
		return context.Canceled
	case !deadline.IsZero() && !time.Now().Before(deadline):
		return context.DeadlineExceeded
	}
	return nil
}

// Value is the caller's. Once set up it goes through the inner context, by which the standard library finds it.
func (c *askContext) Value(key any) any {
	c.mu.Lock()
	inner := c.inner
	c.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return c.parent.Value(key)
}

func (c *askContext) setUp() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner != nil {
		return c.inner
	}
	inner, cancel := context.WithCancelCause(c.parent)
	if c.ended { // somebody of the driver's looks after it has returned
		cancel(nil)
		c.inner = inner
		return inner
	}
	undone := func() { cancel(nil) }
	if deadline := c.limited(); !deadline.IsZero() {
		limited, release := context.WithDeadline(inner, deadline)
		inner, undone = limited, func() { release(); cancel(nil) }
	}
	c.inner, c.undo = inner, undone
	if c.closing != nil {
		stop := context.AfterFunc(c.closing, func() { cancel(ErrClosed) })
		c.undo = func() { stop(); undone() }
	}
	return inner
}

// end lets go of whatever was set up.
func (c *askContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.undo != nil {
		c.undo()
	}
}
