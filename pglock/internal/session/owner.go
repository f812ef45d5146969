package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// own is the line's goroutine. It takes the turn when a caller leaves something, and when the line has not been used for a
// while, to listen.
func (l *line) own() {
	defer l.s.running.Done()
	defer close(l.gone)
	for {
		parking.watch(l)
		<-l.wake
		if l.takeTurn() && !l.serve() {
			return
		}
		l.mu.Lock()
		broken := l.broken != nil
		l.mu.Unlock()
		if broken {
			return
		}
	}
}

func (l *line) takeTurn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.handed
	l.handed = false
	return taken
}

func (l *line) idle() time.Duration { return driver.Now().Sub(l.proved()) }

// serve does what there is to do, and then listens, until the line is in use again. False: it has ended.
func (l *line) serve() bool {
	for {
		if err := l.exchange(); err != nil {
			l.breaks(err)
			return false
		}
		batch, over := l.next()
		switch {
		case batch != nil:
			if err := l.send(batch); err != nil {
				l.breaks(err)
				return false
			}
		case over == released:
			return true
		case over == ended:
			if len(l.keys) == 0 { // else it ends as with the process: a duplicate of the socket may keep it
				l.link.Farewell()
			}
			l.breaks(&wire.BrokenError{Farewell: true, Err: driver.ErrClosed})
			return false
		default:
			if err := l.listen(); err != nil {
				l.breaks(err)
				return false
			}
		}
	}
}

// exchange reads the rest of the exchange that is under way, if there is one.
func (l *line) exchange() error {
	for l.x.open {
		err := l.link.Collect(&l.x, l.hangs(), time.Millisecond)
		switch {
		case errors.Is(err, wire.ErrInterrupted):
			if at := l.hangs(); !at.IsZero() && !time.Now().Before(at) {
				return l.silent()
			}
			continue
		case err != nil:
			return err
		}
		if l.x.settle() {
			if err := l.reconcile(); err != nil {
				return err
			}
		}
		if err := l.complete(); err != nil {
			return err
		}
	}
	return nil
}

// hangs is when an exchange that is not answered means that the line is dead: whatever it held is lost by then. A wait is
// answered when it is.
func (l *line) hangs() time.Time {
	for _, a := range l.x.asks {
		if a.verb == toWait {
			return time.Time{}
		}
	}
	return time.Now().Add(l.x.sent.Add(l.s.ttl).Sub(driver.Now()))
}

func (l *line) silent() error {
	return &wire.BrokenError{Err: fmt.Errorf("the server has not answered for %v", l.s.ttl)}
}

type turn uint8

const (
	listening turn = iota
	released
	ended
)

// next takes what has queued, or else says what becomes of the turn.
func (l *line) next() ([]*ask, turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if taken := l.take(); len(taken) > 0 {
		return taken, listening
	}
	switch {
	case l.quitting:
		return nil, ended
	case l.idle() < parkAfter:
		l.busy = false
		return nil, released
	}
	l.parked = true
	return nil, listening
}

// take takes a batch off the queue, with mu held. No two asks for slots share an exchange: the server grants a session what it
// has already, so the second must know what the first was granted.
func (l *line) take() []*ask {
	n, slots := 0, 0
	for _, a := range l.queue {
		if a.verb == toSlot {
			slots++
		}
		if n == batch || slots > 1 {
			break
		}
		n++
	}
	taken := slices.Clone(l.queue[:n])
	l.flying = taken
	l.queue = slices.Delete(l.queue, 0, n)
	return taken
}

// listen waits for the end of the session, until somebody asks for something or a heartbeat is due.
func (l *line) listen() error {
	var by time.Time
	due := l.proved().Add(l.s.ttl / 3)
	if len(l.keys) == 0 { // what is held lives by its renewals alone
		by = time.Now().Add(max(0, due.Sub(driver.Now())))
	}
	err := l.link.Idle(by)
	defer parking.watch(l) // when it is not parked any more
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parked = false
	if !errors.Is(err, wire.ErrInterrupted) {
		return err
	}
	if !by.IsZero() && !driver.Now().Before(due) {
		// Nobody waits for them: their channels have room for the answer.
		l.queue = append(l.queue, newAsk(toBeat))
		if names := l.s.names.ask(); names != nil && !l.extra {
			l.queue = append(l.queue, names)
		}
	}
	return nil
}
