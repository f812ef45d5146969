package tenure_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/clock"
)

// TestSlotIsHandedOn to a caller that waits in this process, without asking the store, with the next token.
func TestSlotIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grants := 0
		l := locker(t, counting(t, &grants), tenure.Options{}).Slots(2)
		one, two := acquire(t, l, "pool"), acquire(t, l, "pool")
		var caller sync.WaitGroup
		caller.Go(func() {
			next := acquire(t, l, "pool")
			if next.Name() != one.Name() || next.Token() != one.Token()+1 {
				t.Errorf("after %s with %d came %s with %d", one.Name(), one.Token(), next.Name(), next.Token())
			}
			release(t, next)
		})
		synctest.Wait()
		before := grants
		release(t, one)
		caller.Wait()
		if grants != before {
			t.Errorf("%d grants of the store for a hand-off", grants-before)
		}
		release(t, two)
	})
}

// TestSlotIsHandedOnlyToWhoWantsIt: a caller that asked for fewer slots does not get one with a higher number.
func TestSlotIsHandedOnlyToWhoWantsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := locker(t, memory(t), tenure.Options{})
		first := acquire(t, l, "pool#1")
		second := acquire(t, l.Slots(2), "pool") // it must be the second
		var caller sync.WaitGroup
		caller.Go(func() {
			next := acquire(t, l.Slots(1), "pool")
			if next.Name() != "pool#1" {
				t.Errorf("granted %s of one slot", next.Name())
			}
			release(t, next)
		})
		synctest.Wait()
		release(t, second)
		time.Sleep(time.Second)
		release(t, first)
		caller.Wait()
	})
}

// TestTryPassesNoParkedCaller of slots.
func TestTryPassesNoParkedCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		l, other := locker(t, inner, tenure.Options{}).Slots(1), locker(t, inner.Session(), tenure.Options{}).Slots(1)
		away := acquire(t, other, "pool")
		var caller sync.WaitGroup
		caller.Go(func() { release(t, acquire(t, l, "pool")) })
		synctest.Wait()
		if _, err := l.TryAcquire(t.Context(), "pool"); !errors.Is(err, tenure.ErrHeld) {
			t.Errorf("a try beside a parked caller: %v", err)
		}
		release(t, away)
		caller.Wait()
	})
}

// TestCloseLeavesOthersWaiting: another Locker over the same store is none of its business.
func TestCloseLeavesOthersWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory(t)
		l := locker(t, store, tenure.Options{})
		closing, err := tenure.New(store, tenure.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		lease := acquire(t, l, "x")
		var caller sync.WaitGroup
		caller.Go(func() { release(t, acquire(t, l, "x")) })
		synctest.Wait()
		if err := closing.Close(t.Context()); err != nil {
			t.Error(err)
		}
		release(t, lease)
		caller.Wait()
	})
}

// TestMaxHoldIsSeenAtOnce after a pause, in which no timer ran.
func TestMaxHoldIsSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lease := acquire(t, locker(t, memory(t), tenure.Options{MaxHold: time.Second}), "x")
		if until := time.Until(lease.Until()); until > time.Second {
			t.Errorf("trusted for %v", until)
		}
		clock.Suspend(2 * time.Second)
		if err := lease.Err(); !errors.Is(err, tenure.ErrMaxHold) {
			t.Errorf("after two seconds of sleep: %v", err)
		}
	})
}

// TestWhatObserversHear of one lease after another, in order.
func TestWhatObserversHear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		var mu sync.Mutex
		var heard []string
		hear := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, fmt.Sprintf(format, args...))
		}
		var log bytes.Buffer
		l := locker(t, inner, tenure.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Observer: &tenure.Observer{
			Wait:     func(name string, _ *tenure.Holder) { hear("wait %s", name) },
			Grant:    func(_ *tenure.Lease, waited time.Duration) { hear("grant %v", waited) },
			Handoff:  func(_ *tenure.Lease, waited time.Duration) { hear("handoff %v", waited) },
			Renew:    func(_ *tenure.Lease, err error) { hear("renew %v", err) },
			Lost:     func(_ *tenure.Lease, err error) { hear("lost %v", errors.Is(err, tenure.ErrLost)) },
			Released: func(_ *tenure.Lease, held time.Duration, err error) { hear("released %v %v", held, err) },
		}})
		lease := acquire(t, l, "x")
		var caller sync.WaitGroup
		caller.Go(func() {
			next := acquire(t, l, "x")
			time.Sleep(ttl / 2)
			inner.Lose("x")
			_ = next.Release(t.Context())
		})
		time.Sleep(time.Second)
		release(t, lease)
		caller.Wait()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		want := []string{"grant 0s", "wait x", "released 1s <nil>", "handoff 1s", "renew <nil>", "lost true"}
		slices.Sort(heard) // two goroutines tell
		slices.Sort(want)
		if !slices.Equal(heard, want) {
			t.Errorf("heard %q, want %q", heard, want)
		}
		if text := log.String(); !strings.Contains(text, "lease lost") || !strings.Contains(text, "name=x") {
			t.Errorf("the operator was told %q", text)
		}
	})
}

// TestNoHandoffIsHeeded on either side.
func TestNoHandoffIsHeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory(t)
		handing, refusing := locker(t, store, tenure.Options{}), locker(t, store, tenure.Options{NoHandoff: true})
		for _, pair := range [][2]*tenure.Locker{{handing, refusing}, {refusing, handing}} {
			lease := acquire(t, pair[0], "x")
			var caller sync.WaitGroup
			caller.Go(func() {
				next := acquire(t, pair[1], "x")
				if tenure.Handed(next) > 0 {
					t.Error("handed on although one of them has turned that off")
				}
				release(t, next)
			})
			synctest.Wait()
			release(t, lease)
			caller.Wait()
		}
	})
}

// TestAcquireAllBeginsAnew when one of its leases is lost while it waits for another.
func TestAcquireAllBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		l, other := locker(t, inner, tenure.Options{}), locker(t, inner.Session(), tenure.Options{})
		blocking := acquire(t, other, "b")
		time.AfterFunc(time.Second, func() { inner.Lose("a") })
		time.AfterFunc(2*time.Second, func() { _ = blocking.Release(context.Background()) })
		leases, err := l.AcquireAll(t.Context(), "a", "b")
		if err != nil || leases.Err() != nil {
			t.Fatalf("acquired %v, of which one is over: %v", err, leases.Err())
		}
		if err := leases.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestCleanUpEndsWithTheStore: nobody asks a closed store for ever.
func TestCleanUpEndsWithTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		store := &faulty{Store: memory(t)}
		store.acquire = func(context.Context, *driver.Request, acquireFunc) (driver.Grant, error) {
			return driver.Grant{}, &driver.Fault{Kind: driver.Unknown, Sent: driver.Now(), Err: errors.New("no answer")}
		}
		store.abandon = func(_ context.Context, batch []driver.Removal, _ func(context.Context, []driver.Removal)) {
			calls.Add(1)
			for i := range batch {
				batch[i].Err = &driver.Fault{Kind: driver.Lasting, Err: driver.ErrClosed}
			}
		}
		l := locker(t, store, tenure.Options{})
		if _, err := l.TryAcquire(t.Context(), "x"); !errors.Is(err, tenure.ErrUnknown) {
			t.Fatal(err)
		}
		time.Sleep(10 * ttl)
		if calls.Load() != 1 {
			t.Errorf("a closed store was asked %d times", calls.Load())
		}
	})
}

func TestWithNil(t *testing.T) {
	if _, err := locker(t, memory(t), tenure.Options{}).With(nil); !errors.Is(err, tenure.ErrInvalid) {
		t.Errorf("With(nil): %v", err)
	}
}
