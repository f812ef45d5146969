package tenure_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
)

// TestSharedBesideExclusive in one process: the store's key decides, not the Locker, the mode or the session's own grant.
func TestSharedBesideExclusive(t *testing.T) {
	store := memory(t)
	one, two := locker(t, store, tenure.Options{}), locker(t, store, tenure.Options{TTL: time.Minute})
	reader := acquire(t, one.Shared(), "x")
	second := acquire(t, two.Shared(), "x")
	if _, err := two.TryAcquire(t.Context(), "x"); !errors.Is(err, tenure.ErrHeld) {
		t.Errorf("a writer beside readers: %v", err)
	}
	if reader.Token() == second.Token() {
		t.Error("two readers have one token")
	}
	release(t, reader)
	release(t, second)
	writer := acquire(t, one, "x")
	if _, err := two.Shared().TryAcquire(t.Context(), "x"); !errors.Is(err, tenure.ErrHeld) {
		t.Errorf("a reader beside a writer: %v", err)
	}
	if _, err := two.TryAcquire(t.Context(), "x"); !errors.Is(err, tenure.ErrHeld) {
		t.Errorf("a second writer: %v", err)
	}
	release(t, writer)
}

func TestWaitingWriterHoldsBackReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		for where, l := range map[string]*tenure.Locker{"one process": locker(t, inner, tenure.Options{}), "another": locker(t, inner.Session(), tenure.Options{})} {
			first := locker(t, inner, tenure.Options{})
			reader := acquire(t, first.Shared(), "x")
			var order []string
			var callers sync.WaitGroup
			callers.Go(func() {
				writer := acquire(t, l, "x")
				order = append(order, "writer")
				release(t, writer)
			})
			synctest.Wait()
			if _, err := first.Shared().TryAcquire(t.Context(), "x"); !errors.Is(err, tenure.ErrHeld) {
				t.Errorf("%s: a later reader passed the waiting writer: %v", where, err)
			}
			callers.Go(func() {
				late := acquire(t, first.Shared(), "x")
				order = append(order, "reader")
				release(t, late)
			})
			synctest.Wait()
			release(t, reader)
			callers.Wait()
			if !slices.Equal(order, []string{"writer", "reader"}) {
				t.Errorf("%s: the order was %v", where, order)
			}
		}
	})
}

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		lockers := []*tenure.Locker{locker(t, inner, tenure.Options{}).Slots(5), locker(t, inner.Session(), tenure.Options{}).Slots(5)}
		var leases []*tenure.Lease
		names := map[string]bool{}
		for i := range 5 {
			lease, err := lockers[i%2].TryAcquire(t.Context(), "pool")
			if err != nil {
				t.Fatalf("slot %d: %v", i+1, err)
			}
			names[lease.Name()] = true
			leases = append(leases, lease)
		}
		if len(names) != 5 || !names["pool#1"] || !names["pool#5"] {
			t.Errorf("the slots are %v", names)
		}
		if fence := leases[0].Fence(); fence.Name != leases[0].Name() {
			t.Errorf("the fence is %v", fence)
		}
		for _, l := range lockers {
			if _, err := l.TryAcquire(t.Context(), "pool"); !errors.Is(err, tenure.ErrHeld) {
				t.Errorf("a sixth holder: %v", err)
			}
		}
		// Whichever slot is freed, by whichever process: every waiter's wait is for any of them.
		for i, lease := range leases {
			begin := time.Now()
			time.AfterFunc(time.Second, func() { release(t, lease) })
			next := acquire(t, lockers[i/2%2], "pool")
			if waited := time.Since(begin); waited > time.Second+50*time.Millisecond {
				t.Errorf("a slot was free after 1 s and taken after %v", waited)
			}
			leases[i] = next
		}
		// Several waiters, several slots freed at once.
		var callers sync.WaitGroup
		for i := range 6 {
			callers.Go(func() {
				next := acquire(t, lockers[i%2], "pool")
				time.Sleep(time.Second)
				release(t, next)
			})
		}
		synctest.Wait()
		begin := time.Now()
		for _, lease := range leases {
			release(t, lease)
		}
		callers.Wait()
		if took := time.Since(begin); took > 2*time.Second+200*time.Millisecond {
			t.Errorf("6 holders of 1 s on 5 slots took %v", took)
		}
	})
}

// TestSlotsGiveUp: callers that end in the park leave nothing behind, at whatever instant.
func TestSlotsGiveUp(t *testing.T) {
	inner := memory(t)
	lockers := []*tenure.Locker{locker(t, inner, tenure.Options{}).Slots(2), locker(t, inner.Session(), tenure.Options{}).Slots(2)}
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for j := range 300 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(j%50)*2*time.Microsecond)
				lease, err := lockers[i%2].Acquire(ctx, "pool")
				if err == nil {
					release(t, lease)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("acquire: %v", err)
				}
				cancel()
				if lease, err := lockers[i%2].TryAcquire(context.Background(), "pool"); err == nil {
					release(t, lease)
				} else if !errors.Is(err, tenure.ErrHeld) {
					t.Errorf("try: %v", err)
				}
			}
		})
	}
	callers.Wait()
	for _, l := range lockers {
		one, two := acquire(t, l, "pool"), acquire(t, l, "pool")
		release(t, one)
		release(t, two)
	}
}

// TestSlotIsAName: a slot and a lease of the slot's own name exclude each other.
func TestSlotIsAName(t *testing.T) {
	l := locker(t, memory(t), tenure.Options{})
	direct := acquire(t, l, "pool#1")
	if _, err := l.Slots(1).TryAcquire(t.Context(), "pool"); !errors.Is(err, tenure.ErrHeld) {
		t.Errorf("a slot beside its own name: %v", err)
	}
	release(t, direct)
}

func TestAcquireAllInOneOrder(t *testing.T) {
	inner := memory(t)
	names := []string{"a", "b", "c", "d", "e"}
	var callers sync.WaitGroup
	for i := range 8 {
		l := locker(t, inner.Session(), tenure.Options{})
		callers.Go(func() {
			for j := range 50 {
				mine := slices.Clone(names)
				for k := range mine {
					other := (k*7 + i + j) % len(mine)
					mine[k], mine[other] = mine[other], mine[k]
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				leases, err := l.AcquireAll(ctx, mine[:3]...)
				cancel()
				if err != nil {
					t.Errorf("a deadlock: %v", err)
					return
				}
				for k, lease := range leases {
					if lease.Name() != mine[k] {
						t.Errorf("lease %d is of %q, want %q", k, lease.Name(), mine[k])
					}
				}
				if err := leases.Release(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
}

func TestAcquireAllHoldsNothingOnFailure(t *testing.T) {
	inner := memory(t)
	l, other := locker(t, inner, tenure.Options{}), locker(t, inner.Session(), tenure.Options{})
	blocking := acquire(t, other, "c")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.AcquireAll(ctx, "a", "b", "c"); !errors.Is(err, tenure.ErrHeld) {
		t.Errorf("acquire all: %v", err)
	}
	for _, name := range []string{"a", "b"} {
		lease, err := other.TryAcquire(t.Context(), name)
		if err != nil {
			t.Fatalf("%q was kept: %v", name, err)
		}
		release(t, lease)
	}
	release(t, blocking)
	if _, err := l.AcquireAll(t.Context(), "a", "a"); !errors.Is(err, tenure.ErrInvalid) {
		t.Errorf("a name given twice: %v", err)
	}
}

// TestReaderThatHasLeftIsNotNamed as the holder.
func TestReaderThatHasLeftIsNotNamed(t *testing.T) {
	l := locker(t, memory(t), tenure.Options{})
	reader := func(note string) *tenure.Locker {
		with, err := l.With(func(o *tenure.Options) { o.Holder = &tenure.Holder{Note: note} })
		if err != nil {
			t.Fatal(err)
		}
		return with.Shared()
	}
	stays := acquire(t, reader("stays"), "x")
	release(t, acquire(t, reader("left"), "x"))
	var held *tenure.HeldError
	if _, err := l.TryAcquire(t.Context(), "x"); !errors.As(err, &held) || held.Holder.Note == "left" {
		t.Errorf("a try beside a reader: %v", err)
	}
	release(t, stays)
}
