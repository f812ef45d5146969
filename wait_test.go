package tenure_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

func TestTryAcquireSaysWhoHoldsIt(t *testing.T) {
	inner := memory(t)
	here := locker(t, inner, tenure.Options{})
	there := locker(t, inner.Session(), tenure.Options{Holder: &tenure.Holder{Host: "web-1", PID: 4711, Program: "report"}})
	lease := acquire(t, there, "x")
	var held *tenure.HeldError
	_, err := here.TryAcquire(t.Context(), "x")
	if !errors.Is(err, tenure.ErrHeld) || !errors.As(err, &held) {
		t.Fatalf("try: %v", err)
	}
	if h := held.Holder; held.Name != "x" || h.Host != "web-1" || h.PID != 4711 || h.Program != "report" || h.Since.IsZero() {
		t.Errorf("the holder is said to be %+v", h)
	}
	if !strings.Contains(err.Error(), "report pid 4711 on web-1") {
		t.Errorf("the error reads %q", err)
	}
	release(t, lease)

	lease = acquire(t, here, "x") // and in one process, where the store is not asked
	_, err = here.TryAcquire(t.Context(), "x")
	if !errors.As(err, &held) || held.Holder.PID != os.Getpid() || held.Holder.Since.IsZero() {
		t.Errorf("try in the holder's own process: %v (%+v)", err, held)
	}
	release(t, lease)
}

// TestH19TimedOutWaitMatchesBoth its context's error and ErrHeld, wherever it waited.
func TestH19TimedOutWaitMatchesBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		holder := locker(t, inner, tenure.Options{Holder: &tenure.Holder{Program: "report"}})
		lease := acquire(t, holder, "x")
		for where, l := range map[string]*tenure.Locker{"the process": holder, "the store": locker(t, inner.Session(), tenure.Options{})} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			begin := time.Now()
			_, err := l.Acquire(ctx, "x")
			cancel()
			var held *tenure.HeldError
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, tenure.ErrHeld) || !errors.As(err, &held) || held.Holder.Program != "report" {
				t.Errorf("a wait in %s ended with %v", where, err)
			}
			if time.Since(begin) != time.Minute {
				t.Errorf("a wait in %s took %v", where, time.Since(begin))
			}
		}
		release(t, lease)
	})
}

func TestAcquireWithAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("shutting down")
	cancel(why)
	_, err := locker(t, memory(t), tenure.Options{}).Acquire(ctx, "x")
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("acquire: %v", err)
	}
}

// TestAcquireWaitsThroughPassingFaults and returns at once on lasting ones.
func TestAcquireWaitsThroughPassingFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		asked := 0
		store.acquire = func(ctx context.Context, req *driver.Request, next func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
			if asked++; asked < 20 {
				return driver.Grant{}, errOutOfReach
			}
			return next(ctx, req)
		}
		l := locker(t, store, tenure.Options{})
		begin := time.Now()
		release(t, acquire(t, l, "x"))
		if waited := time.Since(begin); waited < 2*time.Second || waited > 20*time.Second {
			t.Errorf("20 questions in %v: no back-off, or too much of it", waited)
		}
		noPermission := errors.New("permission denied")
		store.set(func(f *faulty) {
			f.acquire = func(context.Context, *driver.Request, func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
				return driver.Grant{}, &driver.Fault{Kind: driver.Lasting, Err: noPermission}
			}
		})
		begin = time.Now()
		if _, err := l.Acquire(t.Context(), "x"); !errors.Is(err, noPermission) || errors.Is(err, tenure.ErrUnavailable) || time.Since(begin) > 0 {
			t.Errorf("a lasting fault after %v: %v", time.Since(begin), err)
		}
		store.set(func(f *faulty) {
			f.acquire = func(context.Context, *driver.Request, func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
				return driver.Grant{}, errOutOfReach
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := l.Acquire(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, tenure.ErrUnavailable) || errors.Is(err, tenure.ErrHeld) {
			t.Errorf("a store out of reach for the whole wait: %v", err)
		}
	})
}

// TestH21H22StoreThatCannotQueue is asked again and again, at growing intervals, until the name is free.
func TestH21H22StoreThatCannotQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		asked := 0
		store := &faulty{Store: inner.Session()}
		store.acquire = func(ctx context.Context, req *driver.Request, next func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
			asked++
			once := *req
			once.Wait = false
			return next(ctx, &once)
		}
		lease := acquire(t, locker(t, inner, tenure.Options{}), "x")
		time.AfterFunc(10*time.Minute, func() { _ = lease.Release(context.Background()) })
		begin := time.Now()
		next := acquire(t, locker(t, store, tenure.Options{}), "x")
		if waited := time.Since(begin); waited < 10*time.Minute || waited > 10*time.Minute+time.Second {
			t.Errorf("granted after %v", waited)
		}
		if asked > 1400 {
			t.Errorf("asked %d times in 10 minutes", asked)
		}
		release(t, next)
		_ = inner
	})
}

// TestFirstInFirstOut in one process, with callers that give up in between.
func TestFirstInFirstOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := locker(t, memory(t), tenure.Options{})
		lease := acquire(t, l, "x")
		var order []int
		var callers sync.WaitGroup
		for i := range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			callers.Go(func() {
				next, err := l.Acquire(ctx, "x")
				if err != nil {
					return
				}
				order = append(order, i) // the lock guards it
				release(t, next)
			})
			synctest.Wait()
			if i%3 == 0 {
				defer cancel()
				time.AfterFunc(time.Second, cancel)
			} else {
				_ = cancel
			}
		}
		time.Sleep(2 * time.Second)
		release(t, lease)
		callers.Wait()
		for i := 1; i < len(order); i++ {
			if order[i] < order[i-1] {
				t.Fatalf("the order was %v", order)
			}
		}
		if len(order) != 33 {
			t.Errorf("%d callers were granted it, want 33: %v", len(order), order)
		}
	})
}

// TestGrantRacesCancel hammers the instant in which a wait ends and a grant comes. Nothing may be kept.
func TestGrantRacesCancel(t *testing.T) {
	inner := memory(t)
	lockers := []*tenure.Locker{
		locker(t, inner, tenure.Options{}), locker(t, inner.Session(), tenure.Options{}),
		locker(t, inner.Session(), tenure.Options{NoHandoff: true}),
	}
	var callers sync.WaitGroup
	for i := range 12 {
		l := lockers[i%3]
		callers.Go(func() {
			for j := range 400 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(j%40)*time.Microsecond)
				if lease, err := l.Acquire(ctx, "x"); err == nil {
					release(t, lease)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("acquire: %v", err)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	for _, l := range lockers {
		release(t, acquire(t, l, "x"))
	}
}

func TestOncePerAndMinHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the fake clock begins at midnight
		inner := memory(t)
		daily := locker(t, inner, tenure.Options{OncePer: 24 * time.Hour})
		release(t, acquire(t, daily, "report"))
		other := locker(t, inner.Session(), tenure.Options{OncePer: 24 * time.Hour})
		var done *tenure.DoneError
		if _, err := other.Acquire(t.Context(), "report"); !errors.Is(err, tenure.ErrDone) || !errors.As(err, &done) || errors.Is(err, tenure.ErrHeld) {
			t.Fatalf("a second run in one day: %v", err)
		}
		if until := time.Until(done.Next); until <= 23*time.Hour || until > 24*time.Hour {
			t.Errorf("the next period begins in %v", until)
		}
		time.Sleep(time.Until(done.Next))
		release(t, acquire(t, other, "report"))

		spaced := locker(t, inner, tenure.Options{MinHold: time.Minute})
		release(t, acquire(t, spaced, "short"))
		var held *tenure.HeldError
		if _, err := spaced.TryAcquire(t.Context(), "short"); !errors.As(err, &held) || !held.Gap || held.RetryAfter > time.Minute {
			t.Fatalf("within MinHold: %v", err)
		}
		begin := time.Now()
		release(t, acquire(t, spaced, "short"))
		if waited := time.Since(begin); waited < 59*time.Second || waited > 61*time.Second {
			t.Errorf("MinHold of a minute kept the name for %v", waited)
		}
		if _, err := spaced.Slots(2).TryAcquire(t.Context(), "short"); !errors.Is(err, tenure.ErrUnsupported) {
			t.Errorf("MinHold with slots: %v", err)
		}
	})
}

// TestObserverHearsOfAnOutage once for each, so that a caller that waits can say why.
func TestObserverHearsOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		asked := 0
		store.acquire = func(ctx context.Context, req *driver.Request, next func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
			if asked++; asked < 10 {
				return driver.Grant{}, errOutOfReach
			}
			return next(ctx, req)
		}
		var told []error
		l := locker(t, store, tenure.Options{Observer: &tenure.Observer{Unavailable: func(_ string, err error) { told = append(told, err) }}})
		release(t, acquire(t, l, "x"))
		synctest.Wait()
		if len(told) != 1 || !errors.Is(told[0], errOutOfReach) {
			t.Errorf("told %v", told)
		}
	})
}
