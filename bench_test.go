package tenure_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/tenurelock/tenure"
)

// BenchmarkLease is one caller, one name, nobody else.
func BenchmarkLease(b *testing.B) {
	l := locker(b, memory(b), tenure.Options{})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		lease, err := l.Acquire(ctx, "x")
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDo is the same with a context for the work.
func BenchmarkDo(b *testing.B) {
	l := locker(b, memory(b), tenure.Options{})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Do(ctx, "x", func(context.Context, *tenure.Lease) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandoff is 16 callers of one name in one process.
func BenchmarkHandoff(b *testing.B) {
	l := locker(b, memory(b), tenure.Options{})
	ctx := context.Background()
	b.ReportAllocs()
	grants := 0 // the lock guards it
	var callers sync.WaitGroup
	left := make(chan struct{}, b.N)
	for range b.N {
		left <- struct{}{}
	}
	close(left)
	b.ResetTimer()
	for range 16 {
		callers.Go(func() {
			for range left {
				lease, err := l.Acquire(ctx, "x")
				if err != nil {
					b.Error(err)
					return
				}
				if tenure.Handed(lease) == 0 {
					grants++
				}
				if err := lease.Release(ctx); err != nil {
					b.Error(err)
				}
			}
		})
	}
	callers.Wait()
	b.ReportMetric(float64(b.N)/float64(grants), "leases/grant")
}

// BenchmarkManyNames is each caller on a name of its own, beside the others.
func BenchmarkManyNames(b *testing.B) {
	l := locker(b, memory(b), tenure.Options{})
	ctx := context.Background()
	b.ReportAllocs()
	var mu sync.Mutex
	next := 0
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		name := string(rune('a' + next))
		next++
		mu.Unlock()
		for pb.Next() {
			lease, err := l.Acquire(ctx, name)
			if err != nil {
				b.Error(err)
				return
			}
			if err := lease.Release(ctx); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkLiveLeases holds 100,000 leases at once.
func BenchmarkLiveLeases(b *testing.B) {
	const many = 100_000
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprintf("object/%07d", i)
	}
	for b.Loop() {
		l := locker(b, memory(b), tenure.Options{})
		leases := make([]*tenure.Lease, many)
		before, goroutines := heapInUse(), runtime.NumGoroutine()
		for i, name := range names {
			leases[i] = acquire(b, l, name)
		}
		b.ReportMetric(float64(heapInUse()-before)/many, "bytes/lease")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		for _, lease := range leases {
			release(b, lease)
		}
	}
}

// BenchmarkMillionCallers queues a million callers on one name, and has them give up.
func BenchmarkMillionCallers(b *testing.B) {
	for b.Loop() {
		waitInQueue(b, 1_000_000)
	}
}
