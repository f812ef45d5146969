package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// Acquire asks for one grant.
func (s *Store) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	if req.Terms.TTL != s.ttl {
		return driver.Grant{}, lasting(fmt.Errorf("a TTL of %v; this session's is %v, since it is the session's idle timeout", req.Terms.TTL, s.ttl))
	}
	remembers := req.OncePer > 0 || req.Gap > 0
	wanted, err := lockOf(req.Key, req.Mode)
	if err != nil {
		return driver.Grant{}, lasting(err)
	}
	var at *line
	if !req.Wait && !remembers && len(req.Slots) == 0 {
		at = s.askable()
	}
	c, err := s.enter(req, at)
	if err != nil {
		return driver.Grant{}, err
	}
	if remembers {
		if err := s.tooEarly(ctx, req); err != nil {
			s.drop(c)
			return driver.Grant{}, err
		}
	}
	var grant driver.Grant
	if len(req.Slots) > 0 {
		grant, err = s.acquireSlot(ctx, c, req)
	} else {
		grant, err = s.acquireName(ctx, c, req, wanted, at)
	}
	if err == nil && remembers {
		err = s.remember(ctx, c, req)
	}
	if err != nil {
		s.drop(c)
		return driver.Grant{}, err
	}
	return grant, nil
}

// acquireName asks for the name itself.
func (s *Store) acquireName(ctx context.Context, c *claim, req *driver.Request, wanted lock, at *line) (driver.Grant, error) {
	s.names.note(wanted, req.Name)
	if req.Wait {
		if refusal := s.foundBusy(wanted); refusal != nil {
			grant, err := s.waitAfter(ctx, c, wanted, refusal)
			if !errors.Is(err, errNoRoom) {
				return grant, err
			}
		}
	}
	a := newAsk(toLock)
	a.claim, a.lock = c, wanted
	if err := s.try(ctx, c, a, at); err != nil {
		return driver.Grant{}, err
	}
	defer a.free()
	if a.number > 0 {
		return s.grant(ctx, c, a)
	}
	if !req.Wait {
		return driver.Grant{}, s.refuse(ctx, wanted)
	}
	refusal := &driver.HeldError{} // most waits are over before anybody wants to know for whom
	if endsSoon(ctx) {
		refusal = s.refuse(ctx, wanted)
	}
	s.noteBusy(wanted, refusal.Holder)
	grant, err := s.waitAfter(ctx, c, wanted, refusal)
	if errors.Is(err, errNoRoom) {
		if refusal.Holder == (driver.Holder{}) {
			refusal = s.refuse(ctx, wanted)
		}
		refusal.RetryAfter = s.room.pause()
		s.judge(ctx, wanted)
		return driver.Grant{}, refusal
	}
	return grant, err
}

// judge ends, for a name that has been tried for a TTL, a holder that is stuck in the middle of a message (H69); for those that
// wait in the server, the watcher does.
func (s *Store) judge(ctx context.Context, wanted lock) {
	if !s.room.judges(wanted) {
		return
	}
	class, object, form := wanted.shown()
	_ = s.query(ctx, "stuck_holder", [][]byte{wire.Int8(class), wire.Int8(object), wire.Int8(form)}, nil)
}

// waitAfter waits for a name that was seen to be held.
func (s *Store) waitAfter(ctx context.Context, c *claim, wanted lock, refusal *driver.HeldError) (driver.Grant, error) {
	grant, err := s.wait(ctx, c, wanted)
	var held *driver.HeldError
	switch {
	case errors.As(err, &held):
		held.Holder = refusal.Holder
	case err != nil && ctx.Err() != nil && isPassing(err): // it came to no wait
		return grant, refusal
	}
	return grant, err
}

// askable is the main line if it can be asked as it is, or nil.
func (s *Store) askable() *line {
	if l := s.ready.Load(); l != nil && l.sequence.Load() != 0 {
		return l
	}
	return nil
}

// try asks the main line; at first the one that the claim was entered with, if it was. After an error the ask is not the caller's
// any more.
func (s *Store) try(ctx context.Context, c *claim, a *ask, at *line) error {
	for again := false; ; again, at = true, nil {
		l, err := at, error(nil)
		if l == nil {
			if l, err = s.mainLine(ctx); err == nil {
				err = s.tokens.number(ctx, l)
			}
		}
		if err != nil {
			a.free()
			return err
		}
		if at == nil {
			err = s.submit(ctx, l, c, a)
		} else {
			err = s.asks(ctx, l, c, a)
		}
		switch {
		case err != nil:
			return err
		case a.err == nil:
			return nil
		case again || !saidFarewell(a.err) && (!refused(a.err) || !s.tokens.changed(ctx, l, a)):
			err := fault(a.sent, a.err)
			a.free()
			return err
		}
		a.err = nil // the session was just over, and whatever it was asked with it; or the numbering is another one
	}
}

// refused says whether the server has answered with an error.
func refused(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && !saidFarewell(err)
}

// errAbandoned is the answer to an acquisition that was given up while it was asked for; or whose line broke just after.
var errAbandoned = unknown(0, errors.New("it was cleaned up, or lost, while it was granted"))

// submit sends an ask of a claim. Nil: it was answered, with a.err.
func (s *Store) submit(ctx context.Context, l *line, c *claim, a *ask) error {
	s.mu.Lock()
	if c.state != asking {
		s.mu.Unlock()
		a.free()
		return errAbandoned
	}
	c.line, c.asked = l, true
	s.mu.Unlock()
	return s.asks(ctx, l, c, a)
}

// asks sends an ask of a claim that has the line.
func (s *Store) asks(ctx context.Context, l *line, c *claim, a *ask) error {
	err := l.do(ctx, a)
	switch {
	case err == nil:
		s.unasked(c, a)
		return nil
	case errors.Is(err, errLeft):
		a.free()
		s.mu.Lock()
		c.asked = false
		s.mu.Unlock()
		return passing(fmt.Errorf("%w: %w", err, context.Cause(ctx)))
	case s.leave(c):
		return unknown(driver.Now(), fmt.Errorf("%w: %w", err, context.Cause(ctx)))
	}
	<-a.done // it was granted in the same instant
	return nil
}

// unasked notes that no answer to a claim's ask will come, if its line broke.
func (s *Store) unasked(c *claim, a *ask) {
	if a.err == nil {
		return
	}
	var broken *wire.BrokenError
	if !errors.As(a.err, &broken) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.asked = false; c.state == left {
		s.end(c)
	}
}

// grant makes a grant of a lock that was taken, with a number below the ceiling.
func (s *Store) grant(ctx context.Context, c *claim, a *ask) (driver.Grant, error) {
	if a.orphan {
		return driver.Grant{}, errAbandoned
	}
	number, high := a.number, a.high
	for drawn := false; number > high; drawn = true {
		if drawn {
			if err := s.tokens.raise(ctx, number); err != nil {
				return driver.Grant{}, unknown(0, err)
			}
		}
		s.mu.Lock()
		l := c.line
		s.mu.Unlock()
		var err error
		if number, high, err = l.draw(ctx); err != nil {
			return driver.Grant{}, err
		}
	}
	s.tokens.used(c.line, number, high)
	if number > driver.MaxNumber {
		return driver.Grant{}, lasting(fmt.Errorf("grant %d is above the highest possible, %d: the numbering of this database was set too high", number, driver.MaxNumber))
	}
	if number != a.number {
		s.mu.Lock()
		c.number = number
		s.mu.Unlock()
	}
	return driver.Grant{Number: number, Proof: driver.Proof{Sent: a.sent, Valid: s.ttl}, Slot: a.slot, Since: a.at}, nil
}

// refuse is the error for a name that is held, with its holder.
func (s *Store) refuse(ctx context.Context, wanted lock) *driver.HeldError {
	held := &driver.HeldError{}
	report, err := s.who(ctx, wanted)
	if err == nil && len(report.Holders) > 0 {
		held.Holder = report.Holders[0]
	}
	return held
}

// drop ends a claim that came to nothing, unless the line sees to what may come of it. What was taken is given back: by the
// time that the line does anything that is asked of it later.
func (s *Store) drop(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.state == held:
		s.giveBack(c)
	case !c.asked && !c.unlock:
		s.end(c)
	}
}

// endsSoon says whether a wait may end with its context before the watcher has asked who holds the name.
func endsSoon(ctx context.Context) bool {
	by, ends := ctx.Deadline()
	return ends && time.Until(by) < time.Second
}

// busyFor is how long a name that was found taken is waited for at once, without trying it first: as long as a line to wait
// on is kept, that costs nothing.
func (s *Store) busyFor() time.Duration { return s.keepExtra() }

// shortWait is how long a wait may last that was none: the name was free.
const shortWait = time.Millisecond

// maxBusy bounds how many such names are remembered.
const maxBusy = 1000

// busy is a name that was found taken.
type busy struct {
	at     driver.Instant
	holder driver.Holder
}

// foundBusy gives the refusal of a name that was found taken lately, or nil.
func (s *Store) foundBusy(l lock) *driver.HeldError {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, found := s.busy[l]
	switch {
	case !found:
		return nil
	case driver.Now().Sub(b.at) > s.busyFor():
		delete(s.busy, l)
		return nil
	}
	return &driver.HeldError{Holder: b.holder}
}

func (s *Store) noteBusy(l lock, holder driver.Holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := driver.Now()
	if len(s.busy) >= maxBusy {
		maps.DeleteFunc(s.busy, func(_ lock, b busy) bool { return now.Sub(b.at) > s.busyFor() })
	}
	if len(s.busy) < maxBusy {
		s.busy[l] = busy{now, holder}
	}
}
