package tenure_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// TestH4NothingIsRenewedAfterRelease counts the renewals that begin after a release.
func TestH4NothingIsRenewedAfterRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var released atomic.Bool
		late := 0
		store := &faulty{Store: memory(t)}
		store.renew = func(ctx context.Context, batch []driver.Renewal, next func(context.Context, []driver.Renewal)) {
			if released.Load() {
				late += len(batch)
			}
			next(ctx, batch)
		}
		l := locker(t, store, tenure.Options{})
		lease := acquire(t, l, "x")
		time.Sleep(ttl + time.Second) // no renewal is due
		release(t, lease)
		released.Store(true)
		time.Sleep(10 * ttl)
		if late > 0 {
			t.Errorf("%d renewals after the release", late)
		}
	})
}

// TestH4RenewalInFlightCreatesNothing lets a renewal run at the store after the release.
func TestH4RenewalInFlightCreatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		store := &faulty{Store: inner}
		store.renew = func(ctx context.Context, batch []driver.Renewal, next func(context.Context, []driver.Renewal)) {
			time.Sleep(time.Second) // on its way
			next(ctx, batch)
		}
		lease := acquire(t, locker(t, store, tenure.Options{}), "x")
		time.Sleep(ttl/3 + 500*time.Millisecond) // the first renewal has left
		release(t, lease)
		time.Sleep(2 * time.Second)
		report, err := inner.Inspect(t.Context(), "x")
		if err != nil || len(report.Holders) > 0 {
			t.Errorf("after the release somebody holds it: %+v, %v", report, err)
		}
	})
}

// TestH12LostAnswerLeavesNoOrphan lets the acquisition take effect and loses its answer: within moments the name is free.
func TestH12LostAnswerLeavesNoOrphan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		store := &faulty{Store: inner}
		store.acquire = func(ctx context.Context, req *driver.Request, next func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
			sent := driver.Now()
			if _, err := next(ctx, req); err != nil {
				return driver.Grant{}, err
			}
			<-ctx.Done()
			return driver.Grant{}, &driver.Fault{Kind: driver.Unknown, Sent: sent, Err: ctx.Err()}
		}
		l := locker(t, store, tenure.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Acquire(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, tenure.ErrUnknown) {
			t.Fatalf("acquire: %v", err)
		}
		begin := time.Now()
		next := acquire(t, locker(t, inner.Session(), tenure.Options{}), "x")
		if waited := time.Since(begin); waited > 100*time.Millisecond {
			t.Errorf("the orphan held the name for %v", waited)
		}
		release(t, next)
	})
}

// TestH67LateAcquireIsCleanedUp runs the acquisition at the store long after its first clean-up.
func TestH67LateAcquireIsCleanedUp(t *testing.T) {
	for _, late := range []time.Duration{100 * time.Millisecond, ttl / 2, ttl - time.Second} {
		synctest.Test(t, func(t *testing.T) {
			inner := memory(t)
			store := &faulty{Store: inner}
			store.acquire = func(ctx context.Context, req *driver.Request, next func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
				sent, old := driver.Now(), *req
				time.AfterFunc(late, func() { next(context.Background(), &old) })
				return driver.Grant{}, &driver.Fault{Kind: driver.Unknown, Sent: sent, Err: errors.New("no answer")}
			}
			_, err := locker(t, store, tenure.Options{}).TryAcquire(t.Context(), "x")
			if !errors.Is(err, tenure.ErrUnavailable) || !errors.Is(err, tenure.ErrUnknown) {
				t.Fatalf("try: %v", err)
			}
			time.Sleep(late + time.Millisecond)
			begin := time.Now()
			next := acquire(t, locker(t, inner.Session(), tenure.Options{}), "x")
			if waited := time.Since(begin); waited > ttl/7 {
				t.Errorf("an acquisition that ran %v late held the name for %v", late, waited)
			}
			release(t, next)
			time.Sleep(2 * ttl) // the clean-ups end
		})
	}
}

// TestH13ReleaseWithACancelledContext gives the name back all the same.
func TestH13ReleaseWithACancelledContext(t *testing.T) {
	inner := memory(t)
	store := &faulty{Store: inner}
	store.release = func(ctx context.Context, ref driver.Ref, next func(context.Context, driver.Ref) error) error {
		if ctx.Err() != nil { // as a driver does whose client heeds its context
			return &driver.Fault{Kind: driver.Passing, Err: ctx.Err()}
		}
		return next(ctx, ref)
	}
	lease := acquire(t, locker(t, store, tenure.Options{}), "x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := lease.Release(ctx); err != nil {
		t.Fatal(err)
	}
	next, err := locker(t, inner.Session(), tenure.Options{}).TryAcquire(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	release(t, next)
}

// TestH14BoundsAreBounds: neither a try nor a release outlasts its bound on a store that does not answer.
func TestH14BoundsAreBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		store := &faulty{Store: inner}
		hang := func(ctx context.Context, _ *driver.Request, _ func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
			<-ctx.Done()
			return driver.Grant{}, ctx.Err()
		}
		for _, test := range []struct{ ttl, bound time.Duration }{{ttl, 5 * time.Second}, {3 * time.Second, time.Second}} {
			l := locker(t, store, tenure.Options{TTL: test.ttl})
			lease := acquire(t, l, "held")
			store.set(func(f *faulty) {
				f.acquire = hang
				f.release = func(ctx context.Context, _ driver.Ref, _ func(context.Context, driver.Ref) error) error {
					<-ctx.Done()
					return ctx.Err()
				}
			})
			begin := time.Now()
			if _, err := l.TryAcquire(t.Context(), "x"); !errors.Is(err, tenure.ErrUnavailable) || time.Since(begin) != test.bound {
				t.Errorf("TTL %v: a try took %v: %v", test.ttl, time.Since(begin), err)
			}
			begin = time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			if _, err := l.Acquire(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 200*time.Millisecond {
				t.Errorf("TTL %v: acquiring for 200 ms took %v: %v", test.ttl, time.Since(begin), err)
			}
			cancel()
			begin = time.Now()
			if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrUnavailable) || time.Since(begin) != test.bound {
				t.Errorf("TTL %v: a release took %v: %v", test.ttl, time.Since(begin), err)
			}
			store.set(func(f *faulty) { f.acquire, f.release = nil, nil })
			time.Sleep(2 * ttl) // the clean-ups end
		}
	})
}

// TestH16LeaseIsOneAcquisition: an old lease cannot release a newer one of the same name, and says so.
func TestH16LeaseIsOneAcquisition(t *testing.T) {
	inner := memory(t)
	l := locker(t, inner, tenure.Options{})
	old := acquire(t, l, "x")
	release(t, old)
	newer := acquire(t, l, "x")
	if err := old.Release(t.Context()); !errors.Is(err, tenure.ErrReleased) {
		t.Errorf("second release: %v", err)
	}
	if err := old.Err(); !errors.Is(err, tenure.ErrReleased) {
		t.Errorf("use after release: %v", err)
	}
	if fence := old.Fence(); !fence.IsZero() {
		t.Errorf("a released lease gives the fence %v", fence)
	}
	if work := old.Context(t.Context()); !errors.Is(context.Cause(work), tenure.ErrReleased) {
		t.Errorf("a context of a released lease: %v", context.Cause(work))
	}
	if err := newer.Err(); err != nil {
		t.Errorf("the newer lease: %v", err)
	}
	release(t, newer)
}

// TestH18ReleaseOfWhatTheStoreLost says so, though nobody noticed before.
func TestH18ReleaseOfWhatTheStoreLost(t *testing.T) {
	store := &faulty{Store: memory(t)}
	store.release = func(ctx context.Context, ref driver.Ref, next func(context.Context, driver.Ref) error) error {
		_ = next(ctx, ref)
		return next(ctx, ref) // as if somebody had freed it before us
	}
	lease := acquire(t, locker(t, store, tenure.Options{}), "x")
	if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrLost) || !errors.Is(err, driver.ErrNotOurs) {
		t.Errorf("release: %v", err)
	}
}

// TestUnconfirmedReleaseIsFinishedBehind: the caller hears of it, and the name is free soon all the same.
func TestUnconfirmedReleaseIsFinishedBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		store := &faulty{Store: inner}
		store.release = func(context.Context, driver.Ref, func(context.Context, driver.Ref) error) error { return errOutOfReach }
		failures := 0
		store.abandon = func(ctx context.Context, batch []driver.Removal, next func(context.Context, []driver.Removal)) {
			if failures++; failures < 4 {
				for i := range batch {
					batch[i].Err = errOutOfReach
				}
				return
			}
			next(ctx, batch)
		}
		l := locker(t, store, tenure.Options{})
		lease := acquire(t, l, "x")
		if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrUnavailable) {
			t.Errorf("release: %v", err)
		}
		next := acquire(t, locker(t, inner.Session(), tenure.Options{}), "x")
		release(t, next)
		store.set(func(f *faulty) { f.release = nil })
		release(t, acquire(t, l, "x")) // and this process can have it again
	})
}

// TestH17WaitingAndHoldingAreSeparate ends the context that bounded the wait.
func TestH17WaitingAndHoldingAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := locker(t, memory(t), tenure.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		lease, err := l.Acquire(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * ttl)
		cancel()
		time.Sleep(2 * ttl)
		if err := lease.Err(); err != nil {
			t.Errorf("the end of the wait's context ended the hold: %v", err)
		}
		release(t, lease)
	})
}
