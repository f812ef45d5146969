package locktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// session is one session with the store, asked directly.
type session struct {
	driver.Store
	t    *trial
	acqs atomic.Uint64
}

// open opens a session in which nothing runs out while a rule runs.
func (t *trial) open() *session { return t.openFor(t.long()) }

// brief opens a session for leases that last for the harness's TTL.
func (t *trial) brief() *session { return t.openFor(t.TTL) }

// openFor opens a session with a TTL, where that belongs to the session.
func (t *trial) openFor(ttl time.Duration) *session {
	ctx, cancel := t.bounded()
	defer cancel()
	store, err := t.opener(ctx, ttl)
	t.no(err, "open a session")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.opened = append(t.opened, store)
	return &session{Store: store, t: t}
}

// watch records what a driver.Watcher hears.
type watch struct {
	mu     sync.Mutex
	behind *driver.Holder
	waits  chan struct{} // closed when it is said to wait
	lost   chan error
	onLoss func() // if set, called before a loss is recorded
}

func newWatch() *watch { return &watch{waits: make(chan struct{}), lost: make(chan error, 1)} }

func (w *watch) Asked(string) {}

func (w *watch) Queued(holder *driver.Holder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if holder != nil {
		copied := *holder
		w.behind = &copied
	}
	select {
	case <-w.waits:
	default:
		close(w.waits)
	}
}

func (w *watch) Lost(cause error) {
	if w.onLoss != nil {
		w.onLoss()
	}
	select {
	case w.lost <- cause:
	default:
	}
}

func (w *watch) holder() *driver.Holder {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.behind
}

// claim is one acquisition: asked for, then granted or not.
type claim struct {
	s     *session
	name  string // that was asked for
	req   driver.Request
	watch *watch
	grant driver.Grant
	err   error
	began driver.Instant // before the call
	ended driver.Instant // after it
	done  chan struct{}
}

// long is a TTL that does not run out, if the session can have one.
func (s *session) long() time.Duration {
	if info := s.Info(); info.FixedTTL {
		return info.TTL
	}
	return s.t.long()
}

// claim makes a request, and sends nothing.
func (s *session) claim(name string, options ...option) *claim {
	key, err := s.Key(name)
	s.t.no(err, "the key of %q", name)
	self := driver.Self()
	c := &claim{s: s, name: name, watch: newWatch(), done: make(chan struct{})}
	c.req = driver.Request{
		Ref:    driver.Ref{Name: name, Key: key},
		Terms:  termsOf(s.long()),
		Holder: &self,
		Watch:  c.watch,
	}
	for _, set := range options {
		set(&c.req)
	}
	if c.req.Acq == 0 {
		c.req.Acq = s.acqs.Add(1)
	}
	return c
}

func (c *claim) ask(ctx context.Context) {
	c.began = driver.Now()
	c.grant, c.err = c.s.Acquire(ctx, &c.req)
	c.ended = driver.Now()
	if c.err == nil && len(c.req.Slots) > 0 && c.grant.Slot >= 0 && c.grant.Slot < len(c.req.Slots) {
		slot := c.req.Slots[c.grant.Slot]
		c.req.Name, c.req.Key = slot.Name, slot.Key
	}
}

// try asks without waiting.
func (s *session) try(name string, options ...option) *claim {
	c := s.claim(name, options...)
	ctx, cancel := s.t.bounded()
	defer cancel()
	c.ask(ctx)
	close(c.done)
	return c
}

// take must be granted a free name.
func (s *session) take(name string, options ...option) *claim {
	c := s.try(name, options...)
	s.t.no(c.err, "acquire %q, which is free", name)
	return c
}

// takeSoon must be granted within a time a name that comes free by itself.
func (s *session) takeSoon(within time.Duration, name string, options ...option) *claim {
	var c *claim
	free := s.t.until(within, func() bool { c = s.try(name, options...); return c.err == nil })
	s.t.want(free, "%q was not free after %v: %v", name, within, c.err)
	return c
}

// refused must not be granted a name that is held.
func (s *session) refused(name string, options ...option) *driver.HeldError {
	c := s.try(name, options...)
	s.t.want(c.err != nil, "%q was granted to a second one (number %d)", name, c.grant.Number)
	var held *driver.HeldError
	s.t.want(errors.As(c.err, &held), "a refusal must be a *driver.HeldError, but was: %v", c.err)
	return held
}

// wait asks for a name that is held, and returns when the store has said that the request waits. Where the store cannot
// queue, the claim asks again and again, under new numbers.
func (s *session) wait(ctx context.Context, name string, options ...option) *claim {
	c := s.claim(name, append(options, func(r *driver.Request) { r.Wait = true })...)
	s.t.start(func() {
		defer close(c.done)
		c.askUntil(ctx)
	})
	select {
	case <-c.watch.waits:
	case <-c.done:
		s.t.no(c.err, "wait for %q", name)
		s.t.failf("%q was granted to a second one (number %d) that was to wait", name, c.grant.Number)
	case <-time.After(s.t.Prompt):
		s.t.failf("Watch.Queued was not called within %v for a request that waits for %q", s.t.Prompt, name)
	}
	return c
}

func (c *claim) askUntil(ctx context.Context) {
	for {
		c.ask(ctx)
		var held *driver.HeldError
		if !errors.As(c.err, &held) || held.Gap || ctx.Err() != nil {
			return
		}
		c.watch.Queued(&held.Holder)
		pause := held.RetryAfter
		if pause <= 0 {
			pause = c.s.t.poll()
		}
		comes(ctx.Done(), pause)
		c.req.Acq = c.s.acqs.Add(1)
	}
}

// got must be granted within a time.
func (c *claim) got(within time.Duration) *claim {
	t := c.s.t
	t.want(comes(c.done, within), "a waiter for %q was not granted within %v after it came free", c.name, within)
	t.no(c.err, "a waiter for %q", c.name)
	return c
}

// ends must return within a time, with or without a grant.
func (c *claim) ends(within time.Duration, why string) error {
	c.s.t.want(comes(c.done, within), "a waiter for %q did not return within %v after %s", c.name, within, why)
	return c.err
}

// over says whether the call has returned.
func (c *claim) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// settle does what the root package does after a call that ended: it keeps nothing that was granted, and cleans up what
// is unknown.
func (c *claim) settle() {
	if c.err == nil {
		c.releases()
		return
	}
	var fault *driver.Fault
	var held *driver.HeldError
	var done *driver.DoneError
	switch {
	case errors.As(c.err, &held), errors.As(c.err, &done):
	case errors.As(c.err, &fault) && fault.Kind != driver.Unknown:
	default:
		c.s.t.no(c.abandon(), "abandon %q after %v", c.req.Name, c.err)
	}
}

func (c *claim) release() error {
	ctx, cancel := c.s.t.bounded()
	defer cancel()
	return c.s.Release(ctx, c.req.Ref)
}

// releases must give back what is ours.
func (c *claim) releases() {
	c.s.t.no(c.release(), "release %q, which is ours", c.req.Name)
}

func (c *claim) renew() (driver.Proof, error) {
	ctx, cancel := c.s.t.bounded()
	defer cancel()
	batch := []driver.Renewal{{Ref: c.req.Ref, Terms: c.req.Terms}}
	c.s.Renew(ctx, batch)
	return batch[0].Proof, batch[0].Err
}

// renews must prove what is ours.
func (c *claim) renews() driver.Proof {
	proof, err := c.renew()
	c.s.t.no(err, "renew %q, which is ours", c.req.Name)
	return proof
}

func (c *claim) abandon() error {
	ctx, cancel := c.s.t.bounded()
	defer cancel()
	batch := []driver.Removal{{Ref: c.req.Ref, Slots: c.req.Slots}}
	c.s.Abandon(ctx, batch)
	return batch[0].Err
}

func (s *session) inspect(name string) driver.Report {
	ctx, cancel := s.t.bounded()
	defer cancel()
	report, err := s.Inspect(ctx, name)
	s.t.no(err, "inspect %q", name)
	return report
}

// isFault says whether err is a fault of a kind.
func isFault(err error, kind driver.Kind) bool {
	var fault *driver.Fault
	return errors.As(err, &fault) && fault.Kind == kind
}
