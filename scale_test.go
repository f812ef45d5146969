package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/clock"
)

// TestH10SuspendIsALoss: time asleep counts, although the timers stood still.
func TestH10SuspendIsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := locker(t, memory(t), tenure.Options{})
		watched, asked := acquire(t, l, "watched"), acquire(t, l, "asked")
		clock.Suspend(ttl)
		if err := asked.Err(); !errors.Is(err, tenure.ErrLost) {
			t.Errorf("asked at once after a suspend: %v", err)
		}
		time.Sleep(clock.Interval)
		synctest.Wait()
		select {
		case <-watched.Done():
		default:
			t.Errorf("not lost %v after a suspend", clock.Interval)
		}
	})
}

// TestManyLeases holds 20,000 leases: their memory, the goroutines that renew them, and the calls that this takes.
func TestManyLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 20_000
		var renewals, calls, beside, together, most atomic.Int64
		store := &faulty{Store: memory(t)}
		store.renew = func(ctx context.Context, batch []driver.Renewal, next func(context.Context, []driver.Renewal)) {
			calls.Add(1)
			renewals.Add(int64(len(batch)))
			together.Store(max(together.Load(), beside.Add(1)))
			most.Store(max(most.Load(), int64(runtime.NumGoroutine())))
			next(ctx, batch)
			beside.Add(-1)
		}
		l := locker(t, store, tenure.Options{})
		leases, names := make([]*tenure.Lease, many), make([]string, many) // the caller's own
		for i := range names {
			names[i] = fmt.Sprintf("object/%07d", i)
		}
		before, goroutines := heapInUse(), runtime.NumGoroutine()
		for i := range leases {
			leases[i] = acquire(t, l, names[i])
		}
		each := (heapInUse() - before) / many
		t.Logf("a live lease takes %d bytes, the store's own memory of it included", each)
		if each > 1536 {
			t.Errorf("a live lease takes %d bytes", each)
		}
		time.Sleep(ttl) // three renewals of each fall into it; the last may be under way
		if done := renewals.Load(); done < 2*many || done > 3*many {
			t.Errorf("%d renewals of %d leases in a TTL", done, many)
		}
		if together.Load() > 4 {
			t.Errorf("%d calls of Renew at once", together.Load())
		}
		if more := int(most.Load()) - goroutines; more > 32 { // those that have just ended count for a while
			t.Errorf("%d leases are renewed with %d goroutines more than before", many, more)
		}
		if average := renewals.Load() / calls.Load(); average < 256 {
			t.Errorf("%d renewals a call: not batched", average)
		}
		for _, lease := range leases {
			release(t, lease)
		}
	})
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestWaitersNeedNoGoroutine beyond their own.
func TestWaitersNeedNoGoroutine(t *testing.T) {
	waitInQueue(t, 3_000)
}

func waitInQueue(t testing.TB, many int) {
	l := locker(t, memory(t), tenure.Options{})
	lease := acquire(t, l, "x")
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	var queued atomic.Int64
	watched, err := l.With(func(o *tenure.Options) {
		o.Observer = &tenure.Observer{Wait: func(string, *tenure.Holder) { queued.Add(1) }}
	})
	if err != nil {
		t.Fatal(err)
	}
	for range many {
		callers.Go(func() {
			if lease, err := watched.Acquire(ctx, "x"); err == nil {
				release(t, lease)
			}
		})
	}
	for queued.Load() < int64(many) {
		time.Sleep(time.Millisecond)
	}
	if more := runtime.NumGoroutine() - before; more > many+2 {
		t.Errorf("%d callers wait with %d goroutines", many, more)
	}
	cancel()
	callers.Wait()
	release(t, lease)
}
