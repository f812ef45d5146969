package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// ghost is a session of ours whose connection broke on this side: the server may not know, and keep its locks until its
// idle timeout.
type ghost struct {
	backend backend
	acqs    map[uint64]bool // what it may have been granted
	until   driver.Instant  // the server has ended it by then
}

// A ghost's last request may run up to a TTL after it was sent, and the session is idle for a TTL after that. ghostSlack is
// how much later than its timeout the server may end it.
const ghostSlack = time.Second

// noteGhost remembers one, with mu held, and forgets those that are over.
func (s *Store) noteGhost(g *ghost) {
	now := driver.Now()
	s.ghosts = append(slices.DeleteFunc(s.ghosts, func(old *ghost) bool { return old.until.Before(now) }), g)
}

// lay ends a ghost at the server, over the main line. Nil: it is gone, and with it all that it held.
func (s *Store) lay(ctx context.Context, g *ghost) error {
	for pause := time.Millisecond; driver.Now().Before(g.until); pause = min(2*pause, 100*time.Millisecond) {
		there := false
		if err := s.query(ctx, "ghost", g.backend.params(), func([][]byte) { there = true }); err != nil {
			return err
		}
		if !there {
			break
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return passing(fmt.Errorf("an old session of ours (process %d) is still there: %w", g.backend.pid, ctx.Err()))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ghosts = slices.DeleteFunc(s.ghosts, func(other *ghost) bool { return other == g })
	return nil
}

// layAll ends all ghosts that may have something of an acquisition.
func (s *Store) layAll(ctx context.Context, acq uint64) error {
	for {
		s.mu.Lock()
		i := slices.IndexFunc(s.ghosts, func(g *ghost) bool { return g.acqs[acq] })
		if i < 0 {
			s.mu.Unlock()
			return nil
		}
		g := s.ghosts[i]
		s.mu.Unlock()
		if err := s.lay(ctx, g); err != nil {
			return err
		}
	}
}

// query runs a statement of its own on the main line.
func (s *Store) query(ctx context.Context, statement string, params [][]byte, row func([][]byte)) error {
	l, err := s.mainLine(ctx)
	if err != nil {
		return err
	}
	_, err = l.query(ctx, statement, params, row)
	return err
}

// query runs a statement of its own, and tells when it was sent. Row is not called after it has returned.
func (l *line) query(ctx context.Context, statement string, params [][]byte, row func([][]byte)) (driver.Instant, error) {
	var found [][][]byte
	a := newAsk(toQuery)
	a.statement, a.params = statement, params
	a.row = func(values [][]byte) { found = append(found, clone(values)) }
	if err := l.do(ctx, a); err != nil {
		return 0, passing(err)
	}
	sent, err := a.sent, a.err
	a.free()
	if err != nil {
		return sent, fault(sent, err)
	}
	if row != nil {
		for _, values := range found {
			row(values)
		}
	}
	return sent, nil
}

func clone(values [][]byte) [][]byte {
	copied := make([][]byte, len(values))
	for i, v := range values {
		if v != nil {
			copied[i] = append([]byte{}, v...)
		}
	}
	return copied
}
