package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/connect"
	"github.com/tenurelock/tenure/pglock/internal/schema"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// dialTime bounds the opening of a connection, whoever waits for it.
const dialTime = 30 * time.Second

// dialing is a main line that is being opened, for all who want it.
type dialing struct {
	done chan struct{}
	line *line
	err  error
}

// mainLine gives the line that holds the locks, and opens it if there is none. The error is a fault: nothing was sent.
func (s *Store) mainLine(ctx context.Context) (*line, error) {
	if l := s.ready.Load(); l != nil {
		return l, nil
	}
	s.mu.Lock()
	if l := s.main; l != nil {
		s.mu.Unlock()
		return l, nil
	}
	if s.closed {
		s.mu.Unlock()
		return nil, s.closedFault()
	}
	d := s.dialing
	if d == nil {
		d = &dialing{done: make(chan struct{})}
		s.dialing = d
		s.running.Add(1)
		go s.redial(d)
	}
	s.mu.Unlock()
	select {
	case <-d.done:
		return d.line, d.err
	case <-ctx.Done():
		return nil, passing(fmt.Errorf("no connection with %s yet: %w", s.info.Address, context.Cause(ctx)))
	}
}

func (s *Store) redial(d *dialing) {
	defer s.running.Done()
	ctx, cancel := context.WithTimeout(s.context, dialTime)
	defer cancel()
	l, err := s.dial(ctx, false)
	if err != nil {
		err = s.dialFault(err)
	}
	s.mu.Lock()
	s.dialing = nil
	if err == nil {
		s.proven = true
		s.running.Add(1)
		go s.settleDown(l, slices.Clone(s.ghosts))
	}
	s.mu.Unlock()
	d.line, d.err = l, err
	close(d.done)
}

// settleDown does, when a main line has been opened, what nobody waits for: it ends the sessions that broke before, and
// removes what others have left.
func (s *Store) settleDown(l *line, ghosts []*ghost) {
	defer s.running.Done()
	ctx, cancel := context.WithTimeout(s.context, s.ttl)
	defer cancel()
	for _, g := range ghosts {
		_ = s.lay(ctx, g) // what is left of it ends by the server's timeout
	}
	s.tidy(ctx, l)
}

// dialFault says of what kind an error of dialing is. Nothing of ours was sent. What was good once comes back: a standby that
// is not promoted yet, a password that is being changed.
func (s *Store) dialFault(err error) error {
	s.mu.Lock()
	proven := s.proven
	s.mu.Unlock()
	var refused *pgconn.PgError
	var unfit *schema.Error
	if proven && (errors.As(err, &refused) && strings.HasPrefix(refused.Code, "28") ||
		errors.As(err, &unfit) && (unfit.Reason == schema.Standby || unfit.Reason == schema.ReadOnly)) {
		return passing(fmt.Errorf("%s: %w", s.info.Address, err))
	}
	return fault(0, fmt.Errorf("%s: %w", s.info.Address, err))
}

// dial opens a line, and makes it the main one, or one more that is in use.
func (s *Store) dial(ctx context.Context, extra bool) (*line, error) {
	conn, err := s.dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	b, n, err := s.setUp(ctx, conn, extra)
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	link, err := wire.Take(ctx, conn.Conn)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		link.Close()
		return nil, s.closedFault()
	}
	l := s.adopt(link, conn.Socket, b, n, extra)
	if extra {
		s.extras[l], l.uses = struct{}{}, 1
	} else {
		s.main = l
		s.ready.Store(l)
	}
	return l, nil
}

// setUp makes sure of the server, then sets what a lock needs.
func (s *Store) setUp(ctx context.Context, conn connect.Conn, extra bool) (b backend, n schema.Numbering, err error) {
	if b, err = s.identify(ctx, conn); err != nil {
		return b, n, err
	}
	if !extra {
		if err := s.behaves(ctx, conn, b); err != nil {
			return b, n, err
		}
		if err := patient(ctx, conn); err != nil {
			return b, n, err
		}
		if err := schema.Ensure(ctx, conn.Conn); err != nil {
			return b, n, schemaFault(err)
		}
		if err := writable(ctx, conn); err != nil {
			return b, n, err
		}
	}
	if err := s.settle(ctx, conn, b.name, extra); err != nil {
		return b, n, err
	}
	if n, err = schema.Look(ctx, conn.Conn); err != nil {
		return b, n, err
	}
	return b, n, prepare(ctx, conn.Conn, extra)
}

// schemaFault keeps a refusal from a server that went away meanwhile.
func schemaFault(err error) error {
	var refusal *schema.Error
	if errors.As(err, &refusal) {
		return lasting(err)
	}
	return err
}

// extraLine gives a line to wait on.
func (s *Store) extraLine(ctx context.Context) (*line, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, s.closedFault()
	}
	for l := range s.extras {
		if l.uses == 0 {
			l.uses = 1
			s.mu.Unlock()
			return l, nil
		}
	}
	s.mu.Unlock()
	ctx, end := s.untilClosed(ctx)
	defer end()
	l, err := s.dial(ctx, true)
	if err != nil {
		return nil, s.dialFault(err)
	}
	return l, nil
}

// loosen notes, with mu held, that one user less needs a line. An extra one that nobody needs is kept for the next wait, for a
// while.
func (s *Store) loosen(l *line) {
	if l == nil || !l.extra {
		return
	}
	if l.uses--; l.uses > 0 {
		return
	}
	if _, ours := s.extras[l]; !ours {
		return
	}
	l.freed = driver.Now()
	if l.retiring == nil {
		l.retiring = time.AfterFunc(s.keepExtra(), func() { s.retire(l) })
	}
}

func (s *Store) keepExtra() time.Duration { return min(s.ttl/2, 10*time.Second) }

// retire closes an extra line that has not been used for a while, or looks again later: a line is in use too often to set a
// timer each time.
func (s *Store) retire(l *line) {
	s.mu.Lock()
	_, ours := s.extras[l]
	ours = ours && !s.closed
	left := s.keepExtra()
	if l.uses == 0 {
		left -= driver.Now().Sub(l.freed)
	}
	free := ours && left <= 0
	switch {
	case free:
		delete(s.extras, l)
	case ours:
		l.retiring.Reset(left)
	}
	s.mu.Unlock()
	if free {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		l.quit(ctx)
	}
}
