package session

import (
	"context"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// wait waits for a claim that is queued.
func (s *Store) wait(ctx context.Context, c *claim, a answer) (driver.Grant, error) {
	holder := holderOf(a.text, a.more)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return driver.Grant{}, unknown(0, s.closedFault())
	}
	c.state, c.base = waiting, a.sent
	if a.proved {
		s.chained(c, a.sent)
	}
	c.place, c.left = a.place, remaining(a.n)
	s.schedule(c)
	early := c.early
	s.mu.Unlock()
	if early {
		s.wakeFor(c)
	}
	s.nudge()
	c.watch.Queued(&holder)
	select {
	case r := <-c.result:
		return r.grant, r.err
	case <-ctx.Done():
	case <-s.context.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case r := <-c.result: // in the same instant
		return r.grant, r.err
	default:
	}
	c.state = over
	if s.closed { // which sees to what is left at the server
		return driver.Grant{}, s.closedFault()
	}
	return driver.Grant{}, unknown(0, context.Cause(ctx))
}

func remaining(ms int64) time.Duration {
	if ms < 0 {
		return longestInterval
	}
	return time.Duration(ms) * time.Millisecond
}

// schedule says when a waiter asks next, with mu held. The head of the queue asks at a third of the grace, since it is the first
// who can take a crashed holder's lease over; and whoever waits asks when the holder's time is up, since a lock that another
// program deleted or let run out wakes nobody.
func (s *Store) schedule(c *claim) {
	pause := interval(c.terms.TTL)
	if c.place == 0 && c.grace > 0 {
		pause = min(pause, c.grace/3)
	}
	if c.place == 0 {
		pause = min(pause, max(c.left+time.Millisecond, minPause))
	}
	c.next = driver.Now().Add(pause)
}

// minPause bounds how often anybody asks.
const minPause = 10 * time.Millisecond

// inquire asks for a waiter, and goes on with the answer.
func (s *Store) inquire(c *claim) {
	a, err := s.ask(s.context, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.asked = false
	if c.state != waiting {
		return
	}
	switch {
	case err != nil:
		s.schedule(c)
	case a.what == "yours" && (c.grace == 0 || c.sound):
		grant, err := s.grantOf(c, a)
		c.deliver(grant, err)
		return
	case a.what == "neither": // it was dropped, or lost with the server's memory: the caller joins under a new number
		c.deliver(driver.Grant{}, &driver.HeldError{RetryAfter: time.Millisecond})
		return
	case a.what == "queued":
		c.place, c.left = int(number(a.more)), remaining(a.n)
		s.schedule(c)
	default: // it is ours, and unproved
		c.next = driver.Now().Add(unseenPause)
	}
	if c.again {
		c.again, c.next = false, driver.Now()
	}
	s.nudge()
}

// pushed takes a push: a lock was handed on to one of the session's waiters.
func (s *Store) pushed(p push) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.claims[p.acq]
	switch {
	case c == nil || c.state == held || c.state == over: // whoever gave up cleans up
	case c.state == asking: // before the answer that it is queued
		c.early = true
	case p.kind == "yours" && (c.grace == 0 || c.sound && s.lives(c)):
		grant, err := s.grantOf(c, answer{text: p.number, n: int64(c.index(p.lock)), more: p.at})
		c.deliver(grant, err)
	default: // trust starts with a script that sees the lease
		s.askNow(c)
	}
}

// lives says, with mu held, whether a claim's chain of proofs is not over by now.
func (s *Store) lives(c *claim) bool {
	k := s.chains[c.silence()]
	return !k.sent.IsZero() && driver.Now().Sub(k.sent) < c.silence()
}

// askNow has a waiter ask at once, with mu held.
func (s *Store) askNow(c *claim) {
	if c.asked {
		c.again = true
		return
	}
	c.next = driver.Now()
	s.nudge()
}

func (s *Store) wakeFor(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.state == waiting {
		s.askNow(c)
	}
}

// nudge has the session's goroutine look when the next thing is due.
func (s *Store) nudge() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// run asks for the waiters, and proves the session, when it is time.
func (s *Store) run() {
	defer s.running.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		s.mu.Lock()
		now := driver.Now()
		at := now.Add(time.Hour)
		for _, c := range s.claims {
			switch {
			case c.state != waiting || c.asked:
			case now.Before(c.next):
				at = min(at, c.next)
			default:
				c.asked = true
				s.spawn(func() { s.inquire(c) })
			}
		}
		if due, any := s.proofDue(); any && !s.proving {
			if now.Before(due) {
				at = min(at, due)
			} else {
				s.proving = true
				s.spawn(s.proveOnce)
			}
		}
		s.mu.Unlock()
		timer.Reset(at.Sub(now))
		select {
		case <-timer.C:
		case <-s.kick:
		case <-s.context.Done():
			return
		}
	}
}

// spawn starts what Close waits for, with mu held.
func (s *Store) spawn(f func()) {
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		f()
	}()
}
