package tenure_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/memlock"
)

// park has a caller wait for a slot. What it gives waits until the caller was granted one, and says how long that took.
func park(ctx context.Context, l *tenure.Locker) func() (time.Duration, error) {
	granted := make(chan error, 1)
	go func() {
		lease, err := l.Acquire(ctx, "pool")
		if err == nil {
			err = lease.Release(context.Background())
		}
		granted <- err
	}()
	return func() (time.Duration, error) {
		begin := time.Now()
		err := <-granted
		return time.Since(begin), err
	}
}

// pool is two processes over one store, and the first one's way to it.
type pool struct {
	inner       *memlock.Store
	store       *faulty
	here, there *tenure.Locker
}

// slotComesFree are the ways in which the only slot of a pool comes free. Each takes it in this process, and gives what
// frees it.
var slotComesFree = map[string]func(*testing.T, *pool) (free func()){
	"release": func(t *testing.T, p *pool) func() {
		lease := acquire(t, p.here.Slots(1), "pool")
		return func() { release(t, lease) }
	},
	"release of the slot's name": func(t *testing.T, p *pool) func() {
		lease := acquire(t, p.here, "pool#1")
		return func() { release(t, lease) }
	},
	"a try of the slot's name that is refused": func(t *testing.T, p *pool) func() {
		lease, answer, tried := acquire(t, p.there, "pool#1"), make(chan struct{}), make(chan error, 1)
		p.store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (driver.Grant, error) {
			if !req.Wait && req.Name == "pool#1" {
				<-answer
			}
			return next(ctx, req)
		}
		go func() {
			_, err := p.here.TryAcquire(t.Context(), "pool#1")
			tried <- err
		}()
		synctest.Wait()
		return func() {
			close(answer)
			if err := <-tried; !errors.Is(err, tenure.ErrHeld) {
				t.Errorf("the try: %v", err)
			}
			release(t, lease)
		}
	},
	"a waiter for the slot's name that gives up": func(t *testing.T, p *pool) func() {
		lease := acquire(t, p.there, "pool#1")
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = p.here.Acquire(ctx, "pool#1") }()
		synctest.Wait()
		return func() {
			cancel()
			synctest.Wait()
			release(t, lease)
		}
	},
	"a loss": func(t *testing.T, p *pool) func() {
		acquire(t, p.here.Slots(1), "pool")
		return func() { p.inner.Lose("pool#1") }
	},
	"the clean-up of a release": func(t *testing.T, p *pool) func() {
		lease := acquire(t, p.here.Slots(1), "pool")
		p.store.release = func(context.Context, driver.Ref, releaseFunc) error { return errOutOfReach }
		return func() {
			if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrUnavailable) {
				t.Errorf("the release: %v", err)
			}
			p.store.set(func(f *faulty) { f.release = nil })
		}
	},
	"the end of its last proof": func(t *testing.T, p *pool) func() {
		p.store.renew = func(_ context.Context, batch []driver.Renewal, _ renewFunc) { out(batch, errOutOfReach) }
		begin := time.Now()
		lease := acquire(t, p.here.Slots(1), "pool")
		return func() {
			<-lease.Done()
			time.Sleep(time.Until(begin.Add(ttl)))
		}
	},
}

// TestH21ParkedCallerHearsOfTheSlot in whichever way it comes free.
func TestH21ParkedCallerHearsOfTheSlot(t *testing.T) {
	for way, take := range slotComesFree {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := memory(t)
				p := &pool{inner: inner, store: &faulty{Store: inner}}
				p.here = locker(t, p.store, tenure.Options{NoHandoff: true})
				p.there = locker(t, inner.Session(), tenure.Options{})
				free := take(t, p)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				granted := park(ctx, p.here.Slots(1))
				synctest.Wait()
				free()
				if waited, err := granted(); err != nil || waited > time.Second {
					t.Errorf("the slot was free for %v: %v", waited, err)
				}
			})
		})
	}
}

// pausing is a context of which one look at its error, the nth, takes a while: a caller can be held at many points with it.
type pausing struct {
	context.Context
	looks, at int
	pause     func()
}

func (p *pausing) Err() error {
	if p.looks++; p.looks == p.at {
		p.pause()
	}
	return p.Context.Err()
}

// TestH21ParkedCallerHearsOfTriesThatAreRefused, which began just before it parked.
func TestH21ParkedCallerHearsOfTriesThatAreRefused(t *testing.T) {
	met := 0
	for at := 1; at <= 8; at++ {
		synctest.Test(t, func(t *testing.T) {
			inner := memory(t)
			store := &faulty{Store: inner}
			answer := make(chan struct{})
			store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (driver.Grant, error) {
				if req.Holder.Note == "try" {
					<-answer
				}
				return next(ctx, req)
			}
			there, l := locker(t, inner.Session(), tenure.Options{}).Slots(2), locker(t, store, tenure.Options{})
			tries, err := l.With(func(o *tenure.Options) { o.Holder = &tenure.Holder{Note: "try"} })
			if err != nil {
				t.Fatal(err)
			}
			one, two := acquire(t, there, "pool"), acquire(t, there, "pool")

			base, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			paused, resume := false, make(chan struct{})
			granted := park(&pausing{Context: base, at: at, pause: func() { paused = true; <-resume }}, l.Slots(2))
			synctest.Wait()
			tried := make(chan struct{})
			go func() {
				defer close(tried)
				if lease, err := tries.Slots(2).TryAcquire(t.Context(), "pool"); err == nil {
					release(t, lease)
				}
			}()
			synctest.Wait() // the question of the try is on its way
			if paused {
				met++
			}
			close(resume)
			synctest.Wait()
			close(answer)
			<-tried
			release(t, one)
			release(t, two)
			if waited, err := granted(); err != nil || waited > time.Second {
				t.Errorf("held at its look %d, a caller waited %v beside two free slots: %v", at, waited, err)
			}
		})
	}
	if met < 2 {
		t.Errorf("a caller could be held at %d points only", met)
	}
}

// TestTriesOfSlotsWhileTheStoreHangs say so, each within its bound, though they ask one after another.
func TestTriesOfSlotsWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		store.acquire = func(ctx context.Context, _ *driver.Request, _ acquireFunc) (driver.Grant, error) {
			<-ctx.Done()
			return driver.Grant{}, &driver.Fault{Kind: driver.Passing, Err: ctx.Err()}
		}
		l := locker(t, store, tenure.Options{}).Slots(3)
		var tries sync.WaitGroup
		for i := range 12 {
			tries.Go(func() {
				time.Sleep(time.Duration(i/3) * time.Second)
				begin := time.Now()
				_, err := l.TryAcquire(t.Context(), "pool")
				if errors.Is(err, tenure.ErrHeld) || !errors.Is(err, tenure.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("try %d: %v", i, err)
				}
				if took := time.Since(begin); took > 5*time.Second {
					t.Errorf("try %d took %v", i, took)
				}
			})
		}
		tries.Wait()
	})
}

// TestParkedCallersErrorIsItsOwnEnd, also when a slot woke it just before and is gone again.
func TestParkedCallersErrorIsItsOwnEnd(t *testing.T) {
	for _, want := range []error{context.DeadlineExceeded, tenure.ErrClosed} {
		t.Run(want.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := memory(t)
				store := &faulty{Store: inner}
				store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (driver.Grant, error) {
					grant, err := next(ctx, req)
					if req.Wait && err != nil {
						time.Sleep(100 * time.Millisecond) // leaving the store's queue takes a while
					}
					return grant, err
				}
				there := locker(t, inner.Session(), tenure.Options{}).Slots(2)
				l := locker(t, store, tenure.Options{NoHandoff: true})
				mine, theirs := acquire(t, l.Slots(2), "pool"), acquire(t, there, "pool")
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if errors.Is(want, tenure.ErrClosed) {
					ctx = t.Context()
				}
				granted := park(ctx, l.Slots(2))
				time.Sleep(950 * time.Millisecond)
				release(t, mine) // this wakes it
				taken := acquire(t, there, "pool")
				if errors.Is(want, tenure.ErrClosed) {
					go func() { _ = l.Close(context.Background()) }()
				}
				if _, err := granted(); !errors.Is(err, want) || errors.Is(err, context.Canceled) {
					t.Errorf("the wait ended with %v", err)
				}
				release(t, theirs)
				release(t, taken)
			})
		})
	}
}
