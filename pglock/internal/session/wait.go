package session

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure/driver"
)

// errNoRoom says that as many names are waited for as may be.
var errNoRoom = errors.New("no room to wait in the server's queue")

// wait waits in the server's queue, on a line of its own. A wait is trusted from the last question that was answered "still
// waiting", asked by the watcher over the main line.
func (s *Store) wait(ctx context.Context, c *claim, wanted lock) (driver.Grant, error) {
	if !s.room.enter(wanted) {
		return driver.Grant{}, errNoRoom
	}
	defer s.room.leave()
	l, err := s.waitingLine(ctx, c)
	if err != nil {
		return driver.Grant{}, err
	}
	if err := s.tokens.number(ctx, l); err != nil {
		return driver.Grant{}, err
	}
	for again := false; ; {
		a := newAsk(toWait)
		a.claim, a.lock = c, wanted
		s.watch.begin(c, l, wanted)
		err := s.submit(ctx, l, c, a)
		s.watch.end(c)
		switch {
		case err != nil:
			return driver.Grant{}, s.gaveUp(err)
		case a.err == nil:
			defer a.free()
			if driver.Now().Sub(a.sent) > shortWait {
				s.noteBusy(wanted, driver.Holder{})
			}
			return s.grant(ctx, c, a)
		case refused(a.err) && !again && !timedOut(a.err) && s.tokens.changed(ctx, l, a):
			again = true
			a.free()
			continue
		case !timedOut(a.err):
			err := fault(a.sent, a.err)
			a.free()
			return driver.Grant{}, err
		}
		// The longest wait in the server is over, and begins anew; unless another name has been tried for longer.
		a.free()
		if s.room.wanted(wanted) {
			return driver.Grant{}, &driver.HeldError{RetryAfter: s.room.pause()}
		}
	}
}

// gaveUp is the error of a wait that the caller left.
func (s *Store) gaveUp(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.closedFault()
	}
	return err
}

// untilClosed gives a context that ends when the store is closed, too.
func (s *Store) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.context, cancel)
	return ctx, func() { stop(); cancel() }
}

// waitingLine gives a claim a line to wait on. The claim's end gives it back.
func (s *Store) waitingLine(ctx context.Context, c *claim) (*line, error) {
	l, err := s.extraLine(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.state != asking {
		s.loosen(l)
		return nil, errAbandoned
	}
	c.line = l
	return l, nil
}

func timedOut(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "55P03"
}

// cancelWait ends the wait of a claim that its caller has left, with mu held. The line is used again only when the server
// has both answered the wait and sent the cancellation: it could hit what comes next.
func (s *Store) cancelWait(c *claim) {
	l := c.line
	if l == nil || !l.extra {
		return
	}
	l.uses++
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		ctx, cancel := context.WithTimeout(context.Background(), min(5*time.Second, s.ttl/3))
		defer cancel()
		main := s.theMain()
		if main == nil {
			l.shut() // whoever reads breaks it, and it becomes a ghost
			return
		}
		known := false
		_, err := main.query(ctx, "cancel", l.backend.params(), func([][]byte) { known = true })
		if err != nil || !known { // or it is a session with another server, after a failover
			l.shut()
			return
		}
		// Where the wait ended before the cancellation came, that may hit one more statement: this one.
		for range 2 {
			beat := newAsk(toBeat)
			if err := l.do(ctx, beat); err != nil {
				l.shut()
				return
			}
			err := beat.err
			beat.free()
			if err == nil {
				break
			}
		}
		s.mu.Lock()
		s.loosen(l)
		s.mu.Unlock()
	}()
}

// theMain is the main line, if there is one.
func (s *Store) theMain() *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.main
}
