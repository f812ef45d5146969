package fault

import (
	"context"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Acquire asks, if it gets that far.
func (s *Store) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	if !s.enter() {
		return s.inner.Acquire(ctx, req)
	}
	defer s.busy.Done()
	k, delay := s.roll(true)
	sent := driver.Now()
	if !s.reach(ctx) {
		return driver.Grant{}, unknown(sent, ErrCut)
	}
	switch k {
	case fail:
		return driver.Grant{}, &driver.Fault{Kind: driver.Passing, Err: ErrFailed}
	case lose:
		return driver.Grant{}, s.loseAcquire(ctx, *req, sent)
	case overtake:
		s.overtaken(*req, sent, delay)
		return driver.Grant{}, unknown(sent, ErrLost)
	case late:
		if s.toss() && !s.pass(ctx, delay) {
			return driver.Grant{}, unknown(sent, ctx.Err()) // it was not sent, but who knows
		}
	}
	grant, err := s.inner.Acquire(ctx, req)
	if k == late && err == nil {
		s.pass(ctx, delay)
	}
	if !s.reach(ctx) {
		return driver.Grant{}, unknown(sent, ErrCut)
	}
	return grant, err
}

// loseAcquire sends the request, and loses the answer: at once where there is one, or while it waits.
func (s *Store) loseAcquire(ctx context.Context, req driver.Request, sent driver.Instant) error {
	asked := make(chan struct{})
	s.runBehind(req, sent, 0, asked)
	select {
	case <-asked: // it has had its effect
	case <-ctx.Done():
	case <-time.After(max(s.plan.Delay/4, time.Millisecond)): // it waits
	}
	return unknown(sent, ErrLost)
}

// overtaken sends the request when its clean-up has come before it.
func (s *Store) overtaken(req driver.Request, sent driver.Instant, delay time.Duration) {
	s.runBehind(req, sent, delay, make(chan struct{}))
}

// runBehind runs a request to which nobody listens. No request is on its way for longer than a TTL, but one that waits
// stays in the store's queue until it is cleaned up.
func (s *Store) runBehind(req driver.Request, sent driver.Instant, delay time.Duration, asked chan<- struct{}) {
	s.busy.Add(1) // its caller is counted too
	go func() {
		defer s.busy.Done()
		defer close(asked)
		if !s.pass(s.ctx, delay) {
			return
		}
		limit := sent.Add(req.Terms.TTL).Sub(driver.Now())
		if limit <= 0 {
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, limit)
		defer cancel()
		_, _ = s.inner.Acquire(ctx, &req)
	}()
}

// Release gives back, if it gets that far.
func (s *Store) Release(ctx context.Context, ref driver.Ref) error {
	if !s.enter() {
		return s.inner.Release(ctx, ref)
	}
	defer s.busy.Done()
	k, delay := s.roll(false)
	sent := driver.Now()
	if !s.reach(ctx) {
		return unknown(sent, ErrCut)
	}
	switch {
	case k == fail:
		return &driver.Fault{Kind: driver.Passing, Err: ErrFailed}
	case k == lose && s.toss():
		return unknown(sent, ErrLost)
	case k == late && !s.pass(ctx, delay):
		return unknown(sent, ctx.Err())
	}
	err := s.inner.Release(ctx, ref)
	if k == lose || !s.reach(ctx) {
		return unknown(sent, ErrLost)
	}
	return err
}

// Renew proves, if it gets that far.
func (s *Store) Renew(ctx context.Context, batch []driver.Renewal) {
	s.batch(ctx, func() { s.inner.Renew(ctx, batch) }, func(err error) {
		for i := range batch {
			batch[i].Proof, batch[i].Err = driver.Proof{}, err
		}
	})
}

// Abandon cleans up, if it gets that far.
func (s *Store) Abandon(ctx context.Context, batch []driver.Removal) {
	s.batch(ctx, func() { s.inner.Abandon(ctx, batch) }, func(err error) {
		for i := range batch {
			batch[i].Err = err
		}
	})
}

// batch sends what has one answer for each of many, which go wrong together.
func (s *Store) batch(ctx context.Context, send func(), answer func(error)) {
	if !s.enter() {
		send()
		return
	}
	defer s.busy.Done()
	k, delay := s.roll(false)
	sent := driver.Now()
	if !s.reach(ctx) {
		answer(unknown(sent, ErrCut))
		return
	}
	switch {
	case k == fail:
		answer(&driver.Fault{Kind: driver.Passing, Err: ErrFailed})
		return
	case k == lose && s.toss():
		answer(unknown(sent, ErrLost))
		return
	case k == late && s.toss() && !s.pass(ctx, delay):
		answer(unknown(sent, ctx.Err()))
		return
	}
	send()
	if k == late {
		s.pass(ctx, delay)
	}
	if k == lose || !s.reach(ctx) {
		answer(unknown(sent, ErrLost))
	}
}
