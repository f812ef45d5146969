package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

func outOfReach(context.Context, *driver.Request, acquireFunc) (driver.Grant, error) {
	return driver.Grant{}, errOutOfReach
}

// TestWaitersInAnOutageSayUnavailable, also those that wait behind another, and those that only try: nobody has the name.
func TestWaitersInAnOutageSayUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := locker(t, &faulty{Store: memory(t), acquire: outOfReach}, tenure.Options{})
		wrong := func(err error) bool { return errors.Is(err, tenure.ErrHeld) || !errors.Is(err, tenure.ErrUnavailable) }
		var waiters sync.WaitGroup
		for i := range 3 {
			waiters.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // all end in one instant
				defer cancel()
				if _, err := l.Acquire(ctx, "x"); wrong(err) {
					t.Errorf("waiter %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		for range 20 { // whatever the first waiter does at the moment
			if _, err := l.TryAcquire(t.Context(), "x"); wrong(err) {
				t.Errorf("a try: %v", err)
			}
			time.Sleep(7 * time.Millisecond)
		}
		waiters.Wait()
	})
}

// TestBoundOfATryIsNotItsCallersDeadline, who has none.
func TestBoundOfATryIsNotItsCallersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		for _, kind := range []driver.Kind{driver.Passing, driver.Unknown} {
			store.acquire = func(ctx context.Context, _ *driver.Request, _ acquireFunc) (driver.Grant, error) {
				<-ctx.Done()
				return driver.Grant{}, &driver.Fault{Kind: kind, Sent: driver.Now(), Err: ctx.Err()}
			}
			_, err := locker(t, store, tenure.Options{}).TryAcquire(t.Context(), "x")
			if errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, tenure.ErrUnavailable) || errors.Is(err, tenure.ErrUnknown) != (kind == driver.Unknown) {
				t.Errorf("a fault of kind %d: %v", kind, err)
			}
		}
	})
}

// TestCleanUpsAreBoundedInAnOutage: each waiter has at most one acquisition in the store to clean up, however long the
// outage lasts, and that is tried about once a second.
func TestCleanUpsAreBoundedInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters = 50
		var asked, removals, calls atomic.Int64
		store := &faulty{Store: memory(t)}
		store.acquire = func(context.Context, *driver.Request, acquireFunc) (driver.Grant, error) {
			asked.Add(1)
			return driver.Grant{}, noAnswer()
		}
		store.abandon = func(_ context.Context, batch []driver.Removal, _ abandonFunc) {
			calls.Add(1)
			removals.Add(int64(len(batch)))
			unclean(batch, errOutOfReach)
		}
		l := locker(t, store, tenure.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var callers sync.WaitGroup
		for i := range waiters {
			callers.Go(func() {
				if _, err := l.Acquire(ctx, fmt.Sprint(i)); !errors.Is(err, tenure.ErrUnavailable) {
					t.Errorf("waiter %d: %v", i, err)
				}
			})
		}
		time.Sleep(time.Minute)
		removals.Store(0)
		calls.Store(0)
		time.Sleep(time.Minute)
		if got := removals.Load(); got > 2*60*waiters || got < 30*waiters {
			t.Errorf("%d clean-ups of %d waiters in a minute", got, waiters)
		}
		if got := calls.Load(); got > 2*60*4 {
			t.Errorf("%d calls for them", got)
		}
		callers.Wait()
		if got := asked.Load(); got != waiters {
			t.Errorf("%d waiters asked %d times, with nothing cleaned up", waiters, got)
		}
		store.set(func(f *faulty) { f.abandon = nil })
	})
}

// TestHangingCleanUpIsCutShort by the TTL's bound, not by that of longer ones.
func TestHangingCleanUpIsCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const short = 300 * time.Millisecond
		calls := 0
		store := &faulty{Store: memory(t)}
		store.abandon = func(ctx context.Context, batch []driver.Removal, next abandonFunc) {
			if calls++; calls == 1 {
				<-ctx.Done()
				unclean(batch, ctx.Err())
				return
			}
			next(ctx, batch)
		}
		store.release = func(context.Context, driver.Ref, releaseFunc) error { return errOutOfReach }
		l := locker(t, store, tenure.Options{TTL: short})
		if err := acquire(t, l, "x").Release(t.Context()); !errors.Is(err, tenure.ErrUnavailable) {
			t.Errorf("release: %v", err)
		}
		store.set(func(f *faulty) { f.release = nil })
		begin := time.Now()
		release(t, acquire(t, l, "x"))
		if waited := time.Since(begin); waited > short {
			t.Errorf("with a TTL of %v the name was shut for %v", short, waited)
		}
	})
}

// TestOneHangingNodeCostsNoHealthyLease: a store may be many nodes, and one that hangs holds up its own names only.
func TestOneHangingNodeCostsNoHealthyLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		store.renew = func(ctx context.Context, batch []driver.Renewal, next renewFunc) {
			next(ctx, batch)
			hangs := false
			for i := range batch {
				if strings.HasPrefix(batch[i].Name, "bad") {
					hangs = true
					batch[i].Proof, batch[i].Err = driver.Proof{}, errOutOfReach
				}
			}
			if hangs {
				<-ctx.Done()
			}
		}
		l := locker(t, store, tenure.Options{})
		var good, bad tenure.Leases
		for i := range 2_000 {
			if i%100 == 0 {
				bad = append(bad, acquire(t, l, fmt.Sprint("bad", i)))
			}
			good = append(good, acquire(t, l, fmt.Sprint("good", i)))
		}
		time.Sleep(3 * ttl)
		if err := good.Release(t.Context()); err != nil {
			t.Errorf("leases on a healthy node: %.300v", err)
		}
		if err := bad.Err(); !errors.Is(err, tenure.ErrLost) {
			t.Errorf("those on the hanging one: %v", err)
		}
		_ = bad.Release(t.Context())
	})
}

// TestShortTTLDoesNotCutOthersRenewals: its renewals have a short bound, and share no call with others.
func TestShortTTLDoesNotCutOthersRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 100 * time.Millisecond // too slow for the short ones
		store := &faulty{Store: memory(t)}
		store.renew = func(ctx context.Context, batch []driver.Renewal, next renewFunc) {
			select {
			case <-time.After(slow):
				next(ctx, batch)
			case <-ctx.Done():
				out(batch, errOutOfReach)
			}
		}
		long, short := locker(t, store, tenure.Options{}), locker(t, store, tenure.Options{TTL: 2 * slow})
		ctx, cancel := context.WithTimeout(t.Context(), 2*ttl)
		defer cancel()
		var callers sync.WaitGroup
		for i := range 10 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * slow / 10)
				for ctx.Err() == nil {
					if lease, err := short.Acquire(ctx, fmt.Sprint(i)); err == nil {
						<-lease.Done()
						_ = lease.Release(ctx)
					}
				}
			})
		}
		lease := acquire(t, long, "long")
		callers.Wait()
		release(t, lease)
	})
}

// TestMinHoldKeepsNoOthersOut: who waits for the end of MinHold does not stand in the way of those who ask for none.
func TestMinHoldKeepsNoOthersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		spaced := locker(t, inner, tenure.Options{MinHold: time.Hour})
		release(t, acquire(t, spaced, "x"))
		spacedGranted := make(chan time.Time, 1)
		go func() {
			lease, err := spaced.Acquire(context.Background(), "x")
			if err == nil {
				err = lease.Release(context.Background())
			}
			if err != nil {
				t.Error(err)
			}
			spacedGranted <- time.Now()
		}()
		synctest.Wait()
		free(t, inner, "x") // for other processes
		begin := time.Now()
		plain := locker(t, inner, tenure.Options{})
		lease, err := plain.TryAcquire(t.Context(), "x")
		if err != nil {
			t.Fatalf("a try in this process: %v", err)
		}
		release(t, lease)
		release(t, acquire(t, plain, "x"))
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("a caller without MinHold waited %v for a free name", waited)
		}
		if waited := (<-spacedGranted).Sub(begin); waited < time.Hour || waited > time.Hour+time.Minute {
			t.Errorf("one with a MinHold of an hour waited %v", waited)
		}
	})
}

// TestH27SessionAsksForNoKeyThatItHas, not even behind an answer that came too late, or never.
func TestH27SessionAsksForNoKeyThatItHas(t *testing.T) {
	for what, spoil := range map[string]func() error{
		"too late": func() error { time.Sleep(ttl - 2*time.Second); return nil },
		"never":    noAnswer,
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var has atomic.Uint64 // the acquisition that has the name in the store
				calls := 0
				store := &faulty{Store: memory(t)}
				store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (driver.Grant, error) {
					if acq := has.Load(); acq != 0 {
						t.Errorf("acquisition %d asks for what the session has under %d", req.Acq, acq)
					}
					grant, err := next(ctx, req)
					has.Store(req.Acq)
					if calls++; calls == 1 {
						if spoiled := spoil(); spoiled != nil {
							return driver.Grant{}, spoiled
						}
					}
					return grant, err
				}
				store.abandon = func(ctx context.Context, batch []driver.Removal, next abandonFunc) {
					time.Sleep(time.Second)
					next(ctx, batch)
					has.CompareAndSwap(batch[0].Acq, 0)
				}
				release(t, acquire(t, locker(t, store, tenure.Options{}), "x"))
			})
		})
	}
}

// TestHangingCallsDoNotHoldUpTheRest: while calls of Renew hang, others take their place, so that every batch is sent.
func TestHangingCallsDoNotHoldUpTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		store := &faulty{Store: memory(t)}
		store.renew = func(ctx context.Context, batch []driver.Renewal, _ renewFunc) {
			sent.Add(int64(len(batch)))
			<-ctx.Done()
			out(batch, ctx.Err())
		}
		l := locker(t, store, tenure.Options{})
		const many = 10 * 512 // ten batches, of which four are sent at once
		leases := make([]*tenure.Lease, many)
		for i := range leases {
			leases[i] = acquire(t, l, fmt.Sprint(i))
		}
		time.Sleep(ttl/3 + ttl/10) // less than a hanging call takes
		if sent.Load() < many {
			t.Errorf("%d of %d renewals were sent while calls hang", sent.Load(), many)
		}
		for _, lease := range leases {
			release(t, lease)
		}
	})
}
