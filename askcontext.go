package tenure

import (
	"context"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// askContext is the context of a question to the store: it ends with the caller's, when the Locker is closed, and at a
// limit. It sets up none of that before somebody asks for Done, so that a driver that answers at once pays nothing.
type askContext struct {
	parent context.Context
	group  *group         // the Locker's; nil: its closing does not matter
	until  driver.Instant // zero: none
	// limit, if positive, is how long it lasts from the first look at it: a driver that answers at once spares itself the
	// reading of a clock.
	limit time.Duration

	mu    sync.Mutex
	inner *innerContext // once Done was asked for
	ended bool
}

// innerContext is one of the standard library's.
type innerContext struct {
	context.Context
	undo func()
}

// newAskContext makes the context of a question. A zero until is no limit.
func newAskContext(parent context.Context, closing *group, until driver.Instant) *askContext {
	return &askContext{parent: parent, group: closing, until: until}
}

// soon is that long from now.
func soon(d time.Duration) driver.Instant { return driver.Now().Add(d) }

// Deadline is the earlier of the caller's and the limit.
func (c *askContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	limit := c.limited()
	c.mu.Unlock()
	at, ok := c.parent.Deadline()
	if limit.IsZero() {
		return at, ok
	}
	if limited := limit.Time(); !ok || limited.Before(at) {
		return limited, true
	}
	return at, ok
}

// limited gives the limit, with mu held.
func (c *askContext) limited() driver.Instant {
	if c.limit > 0 {
		c.until, c.limit = soon(c.limit), 0
	}
	return c.until
}

// Done is closed when the question is over.
func (c *askContext) Done() <-chan struct{} { return c.setUp().Done() }

// Err says why the question is over.
func (c *askContext) Err() error {
	c.mu.Lock()
	inner, ended, until := c.inner, c.ended, c.limited()
	c.mu.Unlock()
	switch {
	case inner != nil:
		return inner.Err()
	case ended:
		return context.Canceled
	case c.parent.Err() != nil:
		return c.parent.Err()
	case c.group != nil && c.group.closed():
		return context.Canceled
	case !until.IsZero() && !driver.Now().Before(until):
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
		return c.inner.Context
	}
	inner, cancel := context.WithCancelCause(c.parent)
	undo := func() { cancel(nil) }
	c.inner = &innerContext{inner, undo}
	if c.ended { // somebody of the driver's looks after it has returned
		undo()
		return inner
	}
	if until := c.limited(); !until.IsZero() {
		limited, release := context.WithDeadline(inner, until.Time())
		c.inner = &innerContext{limited, func() { release(); undo() }}
	}
	if c.group != nil {
		stop, undone := context.AfterFunc(c.group.closing, func() { cancel(ErrClosed) }), c.inner.undo
		c.inner.undo = func() { stop(); undone() }
	}
	return c.inner.Context
}

// end lets go of whatever was set up.
func (c *askContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.inner != nil {
		c.inner.undo()
	}
}
