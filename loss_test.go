package tenure_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/memlock"
)

var errOutOfReach = &driver.Fault{Kind: driver.Passing, Err: errors.New("the network is gone")}

// TestH1H5RenewalsFailUntilTheDeadline cuts the store off: the lease stays good until its deadline, is lost just then, with
// the reason, and the renewals were tried again and again meanwhile.
func TestH1H5RenewalsFailUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		store := &faulty{Store: memory(t)}
		store.renew = func(_ context.Context, batch []driver.Renewal, _ func(context.Context, []driver.Renewal)) {
			tries++
			out(batch, errOutOfReach)
		}
		l := locker(t, store, tenure.Options{})
		begin := time.Now()
		lease := acquire(t, l, "x")
		work := lease.Context(t.Context())
		<-work.Done()
		if held := time.Since(begin); held > trusted || held < trusted-time.Second {
			t.Errorf("the context ended after %v, trusted were %v", held, trusted)
		}
		cause := context.Cause(work)
		if !errors.Is(cause, tenure.ErrLost) || !errors.Is(cause, errOutOfReach) {
			t.Errorf("the cause is %v", cause)
		}
		if tries < 5 {
			t.Errorf("%d tries to renew in %v", tries, trusted)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrLost) {
			t.Errorf("release after the loss: %v", err)
		}
		var lost *tenure.LostError
		if !errors.As(cause, &lost) || lost.Name != "x" || lost.Token != lease.Token() {
			t.Errorf("the loss does not say what was lost: %v", cause)
		}
	})
}

func TestH5OneFailedRenewalIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		store := &faulty{Store: memory(t)}
		store.renew = func(ctx context.Context, batch []driver.Renewal, next func(context.Context, []driver.Renewal)) {
			if tries++; tries%2 == 1 {
				out(batch, errOutOfReach)
				return
			}
			next(ctx, batch)
		}
		lease := acquire(t, locker(t, store, tenure.Options{}), "x")
		time.Sleep(10 * ttl)
		if err := lease.Err(); err != nil {
			t.Errorf("lost although every second renewal succeeded: %v", err)
		}
		release(t, lease)
	})
}

// TestH1SuccessorComesAfterTheLoss is the promise itself: whenever the store passes the name on, the context is over.
func TestH1SuccessorComesAfterTheLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		store := &faulty{Store: inner}
		store.renew = func(_ context.Context, batch []driver.Renewal, _ func(context.Context, []driver.Renewal)) {
			out(batch, errOutOfReach)
		}
		store.abandon = func(_ context.Context, batch []driver.Removal, _ func(context.Context, []driver.Removal)) {
			for i := range batch {
				batch[i].Err = errOutOfReach // nothing of ours reaches the store: only the TTL frees the name
			}
		}
		lease := acquire(t, locker(t, store, tenure.Options{}), "x")
		begin := time.Now()
		successor := acquire(t, locker(t, inner.Session(), tenure.Options{}), "x")
		if waited := time.Since(begin); waited < ttl-time.Second {
			t.Errorf("the successor waited %v, which is not the TTL", waited)
		}
		select {
		case <-lease.Done():
		default:
			t.Error("the successor was granted while the old lease was good")
		}
		if successor.Token() <= lease.Token() {
			t.Errorf("token %d does not rise above %d", successor.Token(), lease.Token())
		}
		release(t, successor)
		store.set(func(f *faulty) { f.abandon = nil })
	})
}

// TestH2TrustCountsFromSending delays the answer to the acquisition: the wait for it is not trusted time.
func TestH2TrustCountsFromSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		store.acquire = func(ctx context.Context, req *driver.Request, next func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
			grant, err := next(ctx, req)
			time.Sleep(9 * time.Second)
			return grant, err
		}
		begin := time.Now()
		lease := acquire(t, locker(t, store, tenure.Options{}), "x")
		if until := lease.Until().Sub(begin); until > trusted {
			t.Errorf("trusted %v after the sending, more than %v", until, trusted)
		}
		release(t, lease)
	})
}

// TestH3ExpiredGrantIsGivenBack delays the first answer beyond the TTL: that grant is not returned, and not kept.
func TestH3ExpiredGrantIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		store := &faulty{Store: inner}
		calls := 0
		store.acquire = func(ctx context.Context, req *driver.Request, next func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
			grant, err := next(ctx, req)
			if calls++; calls == 1 {
				time.Sleep(ttl - 2*time.Second) // still ours there, but not to be trusted any more
			}
			return grant, err
		}
		l := locker(t, store, tenure.Options{})
		if _, err := l.TryAcquire(t.Context(), "x"); !errors.Is(err, tenure.ErrUnavailable) {
			t.Fatalf("an expired grant: %v", err)
		}
		synctest.Wait()
		lease, err := locker(t, inner.Session(), tenure.Options{}).TryAcquire(t.Context(), "x")
		if err != nil {
			t.Fatalf("the expired grant was kept: %v", err)
		}
		release(t, lease)
	})
}

// TestH6PanickingDriverIsALoss and not silence.
func TestH6PanickingDriverIsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		store.renew = func(context.Context, []driver.Renewal, func(context.Context, []driver.Renewal)) { panic("a bug") }
		lease := acquire(t, locker(t, store, tenure.Options{}), "x")
		<-lease.Done()
		if err := lease.Err(); !errors.Is(err, tenure.ErrLost) || !strings.Contains(err.Error(), "a bug") {
			t.Errorf("lost with %v", err)
		}
	})
}

// TestH6HangingRenewalIsALoss: deadlines do not wait for the renewals that they judge.
func TestH6HangingRenewalIsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		store.renew = func(ctx context.Context, batch []driver.Renewal, _ func(context.Context, []driver.Renewal)) {
			<-ctx.Done()
			time.Sleep(2 * ttl) // and does not even heed its context
			out(batch, ctx.Err())
		}
		begin := time.Now()
		lease := acquire(t, locker(t, store, tenure.Options{}), "x")
		<-lease.Done()
		if held := time.Since(begin); held > trusted {
			t.Errorf("lost after %v, trusted were %v", held, trusted)
		}
	})
}

func TestH7MaxHoldEndsWedgedWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		l := locker(t, inner, tenure.Options{MaxHold: 5 * ttl})
		begin := time.Now()
		lease := acquire(t, l, "x")
		<-lease.Context(t.Context()).Done()
		if held := time.Since(begin); held != 5*ttl {
			t.Errorf("held for %v", held)
		}
		if err := lease.Err(); !errors.Is(err, tenure.ErrLost) || !strings.Contains(err.Error(), "MaxHold") {
			t.Errorf("lost with %v", err)
		}
		// The wedged work never releases; the name is free all the same, once the last proof has run out.
		successor := acquire(t, locker(t, inner.Session(), tenure.Options{}), "x")
		if wait := time.Since(begin) - 5*ttl; wait > ttl || wait < trusted-ttl/3 {
			t.Errorf("the name was free %v after the end", wait)
		}
		release(t, successor)
	})
}

func TestH7ReleaseAfterMaxHoldFreesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		lease := acquire(t, locker(t, inner, tenure.Options{MaxHold: ttl}), "x")
		<-lease.Done()
		if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrLost) {
			t.Errorf("release: %v", err)
		}
		next, err := locker(t, inner.Session(), tenure.Options{}).TryAcquire(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		release(t, next)
	})
}

// TestH8GapIsALoss: another session held the name in between, so a renewal that would succeed again revives nothing.
func TestH8GapIsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		l := locker(t, inner, tenure.Options{})
		lease := acquire(t, l, "x")
		inner.Lose("x")
		other := acquire(t, locker(t, inner.Session(), tenure.Options{}), "x")
		release(t, other)
		time.Sleep(ttl)
		if err := lease.Err(); !errors.Is(err, tenure.ErrLost) {
			t.Errorf("after a gap: %v", err)
		}
		if fence := lease.Fence(); !fence.IsZero() {
			t.Errorf("a lost lease still gives the fence %v", fence)
		}
	})
}

// TestH8LateAnswerRevivesNothing answers a renewal after the deadline, with success.
func TestH8LateAnswerRevivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		store.renew = func(ctx context.Context, batch []driver.Renewal, next func(context.Context, []driver.Renewal)) {
			next(ctx, batch)
			time.Sleep(ttl)
		}
		lease := acquire(t, locker(t, store, tenure.Options{}), "x")
		time.Sleep(2 * ttl)
		if err := lease.Err(); !errors.Is(err, tenure.ErrLost) {
			t.Errorf("a late answer revived the lease: %v", err)
		}
	})
}

func TestH11SessionsAreRandom(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		id := memlock.New(memlock.Options{}).Info().Session
		if len(id) < 32 || seen[id] {
			t.Fatalf("session id %q is short or seen before", id)
		}
		seen[id] = true
	}
}

// TestLossIsToldOnceAndAtOnce: the store's own word is proof.
func TestLossIsToldOnceAndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		losses := 0
		l := locker(t, inner, tenure.Options{Observer: &tenure.Observer{Lost: func(*tenure.Lease, error) { losses++ }}})
		lease := acquire(t, l, "x")
		inner.Lose("x")
		synctest.Wait()
		select {
		case <-lease.Done():
		default:
			t.Error("the loss was not told at once")
		}
		for range 3 {
			if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrLost) {
				t.Errorf("release: %v", err)
			}
		}
		if losses != 1 {
			t.Errorf("the loss was told %d times", losses)
		}
	})
}
