package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenurelock/tenure/driver"
)

// Release gives a grant back. An unlock that answers false means that somebody else unlocked it, or that the session is not
// the one that we took it for: the line is closed, and whatever it held is lost.
func (s *Store) Release(ctx context.Context, ref driver.Ref) error {
	s.mu.Lock()
	c := s.claims[ref.Acq]
	if s.closed {
		s.mu.Unlock()
		return s.closedFault()
	}
	if c == nil || c.state != held {
		s.mu.Unlock()
		return driver.ErrNotOurs
	}
	c.state, c.unlock = left, true
	s.unlist(c)
	l := c.line
	s.mu.Unlock()
	return s.unlock(ctx, l, c)
}

// unlock gives a claim's lock back.
func (s *Store) unlock(ctx context.Context, l *line, c *claim) error {
	a := newAsk(toUnlock)
	a.claim, a.lock = c, c.lock
	switch err := l.do(ctx, a); {
	case errors.Is(err, errLeft):
		l.later(a)
		return unknown(0, err)
	case err != nil:
		return unknown(0, err)
	}
	sent, ok, err := a.sent, a.ok, a.err
	a.free()
	switch {
	case err != nil:
		return fault(sent, err)
	case !ok:
		return driver.ErrNotOurs
	}
	return nil
}

// Abandon makes sure that acquisitions have nothing.
func (s *Store) Abandon(ctx context.Context, batch []driver.Removal) {
	for i := range batch {
		batch[i].Err = s.abandon(ctx, batch[i].Acq)
	}
}

func (s *Store) abandon(ctx context.Context, acq uint64) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return s.closedFault()
	}
	c := s.claims[acq]
	if c == nil {
		s.mu.Unlock()
		return s.layAll(ctx, acq)
	}
	if c.over == nil {
		c.over = make(chan struct{})
	}
	over := c.over
	switch {
	case c.state == held:
		s.giveBack(c)
	case c.state == asking && c.asked:
		c.state = left // its caller is told when it is answered
		s.cancelWait(c)
	case c.state == asking: // or when it asks
		s.end(c)
	}
	s.mu.Unlock()
	select {
	case <-over:
		return s.layAll(ctx, acq)
	case <-ctx.Done():
		return passing(fmt.Errorf("acquisition %d is not cleaned up yet: %w", acq, ctx.Err()))
	}
}
