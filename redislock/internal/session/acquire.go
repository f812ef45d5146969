package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/redislock/internal/script"
)

// longestInterval is the most between two questions of a waiter: what a lost push costs.
const longestInterval = 2 * time.Second

// interval is how often a waiter asks.
func interval(ttl time.Duration) time.Duration { return min(ttl/4, longestInterval) }

// Acquire asks for one grant.
func (s *Store) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	if err := supported(req); err != nil {
		return driver.Grant{}, err
	}
	c, err := s.enter(req)
	if err != nil {
		return driver.Grant{}, err
	}
	grant, err := s.acquire(ctx, c, req)
	if err != nil {
		s.forget(c)
		return driver.Grant{}, err
	}
	return grant, nil
}

// supported refuses what makes no sense together.
func supported(req *driver.Request) error {
	remembers := req.OncePer > 0 || req.Gap > 0
	switch {
	case remembers && len(req.Slots) > 0:
		return driver.Unsupported("OncePer and Gap with slots")
	case remembers && req.Mode == driver.Shared:
		return driver.Unsupported("OncePer and Gap with a shared grant")
	case req.Mode == driver.Shared && len(req.Slots) > 0:
		return driver.Unsupported("a shared grant of a slot")
	case req.Terms.TTL < shortest:
		return lasting(fmt.Errorf("a TTL of %v: at least %v is needed, since Redis counts milliseconds", req.Terms.TTL, shortest))
	}
	return nil
}

// shortest is the least TTL.
const shortest = 10 * time.Millisecond

// enter makes a claim of a request.
func (s *Store) enter(req *driver.Request) (*claim, error) {
	grace, err := s.graceOf(req.Terms)
	if err != nil {
		return nil, err
	}
	c := &claim{
		ref: req.Ref, terms: req.Terms, slots: append([]driver.Slot(nil), req.Slots...), sets: s.setsOf(req.Key, req.Slots),
		grace: grace, watch: req.Watch,
	}
	c.owner, c.keys = s.owner(req.Acq, grace), c.sets[0]
	if req.Wait {
		c.result = make(chan result, 1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, s.closedFault()
	case req.Acq == 0 || s.claims[req.Acq] != nil:
		return nil, lasting(fmt.Errorf("the acquisition number %d is zero or in use; each request needs its own", req.Acq))
	}
	s.claims[req.Acq], s.used[grace] = c, true
	return c, nil
}

func (s *Store) acquire(ctx context.Context, c *claim, req *driver.Request) (driver.Grant, error) {
	if len(c.sets) > 1 {
		return s.acquireApart(ctx, c, req)
	}
	return s.acquireOne(ctx, c, req)
}

// acquireApart tries slots one after the other, in any order. Nobody queues for them.
func (s *Store) acquireApart(ctx context.Context, c *claim, req *driver.Request) (grant driver.Grant, err error) {
	alone := *req
	alone.Slots, alone.Wait = nil, false
	for _, i := range rand.Perm(len(c.sets)) {
		s.mu.Lock()
		c.keys = c.sets[i]
		s.mu.Unlock()
		grant, err = s.acquireOne(ctx, c, &alone)
		var held *driver.HeldError
		if !errors.As(err, &held) {
			grant.Slot = i
			return grant, err
		}
		if req.Wait {
			held.RetryAfter = retryAfter
		}
	}
	return grant, err
}

func (s *Store) acquireOne(ctx context.Context, c *claim, req *driver.Request) (driver.Grant, error) {
	remembers := req.OncePer > 0 || req.Gap > 0
	wait := req.Wait && !remembers // who must remember asks again, so that it is refused once another one has been granted
	if wait || c.grace > 0 {
		if err := s.subscribed(ctx); err != nil {
			return driver.Grant{}, err
		}
	}
	mode := "x"
	if req.Mode == driver.Shared {
		mode = "s"
	}
	a, err := s.question(ctx, script.Acquire, c.keys, []string{
		c.owner, milliseconds(c.terms.TTL), mode, flag(wait), milliseconds(interval(c.terms.TTL)), flag(c.grace > 0), about(req.Holder),
		milliseconds(req.OncePer), milliseconds(req.Gap), flag(len(req.Slots) > 0),
	})
	if err != nil {
		return driver.Grant{}, err
	}
	switch a.what {
	case "yours":
		return s.granted(ctx, c, a)
	case "done":
		return driver.Grant{}, doneError(a, req.OncePer)
	case "early":
		return driver.Grant{}, earlyError(a, req.Gap)
	case "queued":
		return s.wait(ctx, c, a)
	}
	held := &driver.HeldError{Holder: holderOf(a.text, a.more)}
	if req.Wait {
		held.RetryAfter = retryAfter
	}
	return driver.Grant{}, held
}

// retryAfter is how soon those ask again who must not queue.
const retryAfter = 100 * time.Millisecond

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// doneError says when the name was done, and when it may be again.
func doneError(a answer, per time.Duration) error {
	last := micros(a.text)
	next := time.UnixMilli((last.UnixMilli()/per.Milliseconds() + 1) * per.Milliseconds())
	return &driver.DoneError{Last: last, Next: next}
}

func earlyError(a answer, gap time.Duration) error {
	last := micros(a.text)
	return &driver.HeldError{Gap: true, RetryAfter: last.Add(gap).Sub(time.UnixMicro(a.at)), Holder: lastHolder(a.more)}
}

// granted makes a grant of the answer to an acquire. Trust needs a proof in the same script; where that had none, as just after
// the subscription was lost, questions go on until one has.
func (s *Store) granted(ctx context.Context, c *claim, a answer) (driver.Grant, error) {
	s.mu.Lock()
	c.base = a.sent
	if a.proved {
		s.chained(c, a.sent)
	}
	sound := c.grace == 0 || c.sound
	s.mu.Unlock()
	for !sound {
		if err := s.subscribed(ctx); err != nil {
			return driver.Grant{}, unknown(0, err)
		}
		asked, err := s.ask(ctx, c)
		switch {
		case err != nil && ctx.Err() != nil:
			return driver.Grant{}, unknown(0, err)
		case err == nil && asked.what != "yours":
			return driver.Grant{}, &driver.HeldError{RetryAfter: time.Millisecond}
		case err == nil && asked.proved:
			a.text, a.n, a.more, sound = asked.text, asked.n, asked.more, true
		default:
			if err := s.sleep(ctx, unseenPause); err != nil {
				return driver.Grant{}, err
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return driver.Grant{}, unknown(0, s.closedFault())
	}
	c.state = held
	return s.grantOf(c, a)
}

// unseenPause is between questions of somebody whose subscription the server did not see.
const unseenPause = 20 * time.Millisecond

func (s *Store) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return unknown(0, context.Cause(ctx))
	case <-s.context.Done():
		return unknown(0, s.closedFault())
	}
}

// grantOf makes a grant, with mu held.
func (s *Store) grantOf(c *claim, a answer) (driver.Grant, error) {
	n, err := strconv.ParseInt(a.text, 10, 64)
	if err != nil || n <= 0 {
		return driver.Grant{}, unknown(0, fmt.Errorf("%s: a grant without a number; did another program change its keys?", s.opts.Address))
	}
	return driver.Grant{Number: n, Proof: s.proof(c), Slot: int(a.n), Since: micros(a.more)}, nil
}

// ask asks what has become of a claim.
func (s *Store) ask(ctx context.Context, c *claim) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, interval(c.terms.TTL))
	defer cancel()
	a, err := s.question(ctx, script.Ask, c.keys, []string{c.owner, milliseconds(c.terms.TTL), flag(c.grace > 0)})
	if err != nil {
		return a, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.what == "yours" && a.full, a.what == "queued":
		c.base = max(c.base, a.sent)
	}
	if a.what != "neither" && a.proved && c.state != over {
		s.chained(c, a.sent)
	}
	return a, nil
}

// graceOf is the grace under some terms.
func (s *Store) graceOf(terms driver.Terms) (time.Duration, error) {
	grace := s.opts.Grace
	switch {
	case grace == 0:
		return 0, nil
	case grace < 0:
		if grace = terms.TTL / 6; grace < leastGrace {
			return 0, nil
		}
	}
	c := claim{grace: grace, terms: terms}
	if c.silence() <= 0 {
		return 0, lasting(fmt.Errorf("a grace of %v leaves nothing after a drift of %.0f%% and a margin of %v: take a longer one, or 0 to leave "+
			"crashed holders to the TTL", grace, 100*terms.Drift, terms.Margin))
	}
	return min(grace, terms.TTL), nil
}

// leastGrace is the least that is taken where nobody has chosen one: a shorter one ends leases on a busy machine.
const leastGrace = 500 * time.Millisecond

// validOf is how long a proof is good for.
func (s *Store) validOf(terms driver.Terms) time.Duration {
	grace, err := s.graceOf(terms)
	if err != nil || grace == 0 {
		return terms.TTL
	}
	return grace
}
