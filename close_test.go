package tenure_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
)

// TestCloseWakesWaitersAndWaitsForHolders in the process's queue, in the store's, and in a park of slots.
func TestCloseWakesWaitersAndWaitsForHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		other := locker(t, inner.Session(), tenure.Options{})
		away, slot := acquire(t, other, "away"), acquire(t, other.Slots(1), "pool")
		l := locker(t, inner, tenure.Options{})
		here, hereSlot := acquire(t, l, "here"), acquire(t, l.Slots(1), "mine")
		var waiters sync.WaitGroup
		for range 3 {
			for name, wait := range map[string]*tenure.Locker{"here": l, "away": l, "pool": l.Slots(1), "mine": l.Slots(1)} {
				waiters.Go(func() {
					if _, err := wait.Acquire(context.Background(), name); !errors.Is(err, tenure.ErrClosed) {
						t.Errorf("a waiter for %q: %v", name, err)
					}
				})
			}
		}
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- l.Close(context.Background()) }()
		waiters.Wait()
		if _, err := l.Shared().TryAcquire(t.Context(), "x"); !errors.Is(err, tenure.ErrClosed) {
			t.Errorf("a new caller: %v", err)
		}
		if err := here.Err(); err != nil {
			t.Errorf("the holder: %v", err)
		}
		release(t, hereSlot)
		synctest.Wait()
		select {
		case err := <-closed:
			t.Fatalf("closed beside a holder: %v", err)
		default:
		}
		release(t, here)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		release(t, away)
		release(t, slot)
	})
}

// TestCloseCutsHolders when its context ends. The name is freed when the holder releases.
func TestCloseCutsHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		l, err := tenure.New(inner, tenure.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		lease := acquire(t, l, "x")
		wedged := acquire(t, l, "y")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		if err := lease.Err(); !errors.Is(err, tenure.ErrLost) {
			t.Errorf("a holder that was cut off: %v", err)
		}
		other := locker(t, inner.Session(), tenure.Options{})
		if _, err := other.TryAcquire(t.Context(), "x"); !errors.Is(err, tenure.ErrHeld) {
			t.Errorf("the name was free before its holder's work was joined: %v", err)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrLost) {
			t.Errorf("release: %v", err)
		}
		next, err := other.TryAcquire(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		release(t, next)
		release(t, acquire(t, other, "y")) // nobody releases it, and it is free all the same
		if err := wedged.Err(); !errors.Is(err, tenure.ErrLost) {
			t.Error(err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Errorf("second close: %v", err)
		}
	})
}

// TestCloseRacesAcquire: whoever comes at the same moment gets a lease, or ErrClosed, and nothing is kept.
func TestCloseRacesAcquire(t *testing.T) {
	inner := memory(t)
	other := locker(t, inner.Session(), tenure.Options{})
	for range 200 {
		l, err := tenure.New(inner, tenure.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		for i := range 6 {
			callers.Go(func() {
				in := l
				if i%3 == 2 {
					in = l.Slots(1)
				}
				for {
					lease, err := in.Acquire(context.Background(), "x")
					if errors.Is(err, tenure.ErrClosed) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
					release(t, lease)
				}
			})
		}
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
		callers.Wait()
	}
	release(t, acquire(t, other, "x"))
	release(t, acquire(t, other.Slots(1), "x"))
}

// TestCopiesShareClose and keep their own options.
func TestCopiesShareClose(t *testing.T) {
	l := locker(t, memory(t), tenure.Options{})
	copied, err := l.With(func(o *tenure.Options) { o.TTL = time.Minute })
	if err != nil {
		t.Fatal(err)
	}
	if l.Options().TTL != ttl || copied.Options().TTL != time.Minute {
		t.Errorf("TTLs %v and %v", l.Options().TTL, copied.Options().TTL)
	}
	if err := copied.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(t.Context(), "x"); !errors.Is(err, tenure.ErrClosed) {
		t.Errorf("after the copy's close: %v", err)
	}
}
