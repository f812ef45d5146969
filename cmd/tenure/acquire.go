//go:build linux || darwin

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// waiting says once that somebody else is in the way. The library calls it again whenever the wait begins anew.
func (p *performance) waiting() func(string, *tenure.Holder) {
	if p.quiet {
		return nil
	}
	var once sync.Once
	return func(name string, holder *tenure.Holder) {
		once.Do(func() {
			if holder == nil {
				holder = &tenure.Holder{}
			}
			speak("waiting for %q, held by %v", name, *holder)
		})
	}
}

// inTrouble says once that the store gives no answer, or the wait would look like one for another holder.
func (p *performance) inTrouble() func(string, error) {
	if p.quiet {
		return nil
	}
	var once sync.Once
	return func(_ string, err error) {
		once.Do(func() { speak("waiting: %s", inOneLine(withoutPackage(err.Error()))) })
	}
}

// acquired is what there is once the lock is held, or what is left when it is not.
type acquired struct {
	store  driver.Store
	locker *tenure.Locker
	kill   time.Duration // from TERM to KILL
	lease  *tenure.Lease
}

// acquire opens the store and waits for the lock. A signal ends that at once. On failure nothing is left.
func (p *performance) acquire() (acquired, error) {
	type answer struct {
		acquired
		err error
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		a, err := p.enter(ctx)
		answers <- answer{a, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			p.leave(a.acquired)
			return acquired{}, p.notAcquired(a.err)
		}
		return a.acquired, nil
	case sig := <-p.signals:
		cancel()
		select {
		case a := <-answers:
			p.leave(a.acquired) // it may have been granted in the same moment
		case <-time.After(closing): // our end frees whatever is ours
		}
		return acquired{}, exit(128 + int(sig.(unix.Signal)))
	}
}

// leave gives back and closes whatever there is.
func (p *performance) leave(a acquired) {
	if a.lease != nil {
		p.close(a.lease.Release)
	}
	if a.locker != nil {
		p.close(a.locker.Close)
	}
	if a.store != nil {
		p.close(a.store.Close)
	}
}

// enter goes all the way to the lease. On failure it gives what is to be closed.
func (p *performance) enter(ctx context.Context) (a acquired, err error) {
	if a.store, err = p.store.open(ctx, time.Duration(p.ttl)); err != nil {
		return a, err
	}
	if a.locker, err = tenure.New(a.store, p.options()); err != nil {
		return a, err
	}
	if a.kill, err = p.fit(trusted(a.locker.Options(), a.store.Info())); err != nil {
		return a, err
	}
	locker := a.locker
	switch {
	case p.given("slots"):
		locker = locker.Slots(p.slots)
	case p.shared:
		locker = locker.Shared()
	}
	a.lease, err = p.ask(ctx, locker)
	return a, err
}

// trusted gives options with the time that a proof is good for in the place of the TTL: a store may rest it on less.
func trusted(o tenure.Options, info driver.Info) tenure.Options {
	o.TTL = info.Validity(driver.Terms{TTL: o.TTL, Drift: o.Drift, Margin: o.Margin})
	return o
}

func (p *performance) ask(ctx context.Context, locker *tenure.Locker) (*tenure.Lease, error) {
	switch {
	case p.nonblock || p.given("wait") && p.wait == 0:
		return locker.TryAcquire(ctx, p.name)
	case p.given("wait"):
		limited, cancel := context.WithTimeout(ctx, time.Duration(p.wait))
		defer cancel()
		lease, err := locker.Acquire(limited, p.name)
		if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, tenure.ErrHeld) {
			// The store is out of reach, or the wait was too short for its answer: one question tells which, and who is in the way.
			lease, tried := locker.TryAcquire(ctx, p.name)
			if errors.Is(tried, tenure.ErrHeld) {
				tried = errors.Join(tried, context.DeadlineExceeded) // the wait is what was too short
			}
			return lease, tried
		}
		return lease, err
	}
	return locker.Acquire(ctx, p.name)
}

// notAcquired gives an error its words and its status.
func (p *performance) notAcquired(err error) error {
	var held *tenure.HeldError
	var done *tenure.DoneError
	inTime := !errors.Is(err, context.DeadlineExceeded)
	switch {
	case errors.As(err, &held):
		err = held
	case errors.As(err, &done):
		err = done
	case inTime || errors.Is(err, tenure.ErrUnavailable):
		return err
	}
	if p.quiet {
		return exit(p.conflict)
	}
	if !inTime {
		err = fmt.Errorf("not acquired within %v: %w", &p.wait, err)
	}
	return &failure{p.conflict, err}
}
