package tenure_test

import (
	"context"
	"testing"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/memlock"
)

func BenchmarkLease(b *testing.B) {
	store := memlock.New(memlock.Options{})
	l, err := tenure.New(store, tenure.Options{})
	if err != nil {
		b.Fatal(err)
	}
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

func BenchmarkHandoff(b *testing.B) {
	store := memlock.New(memlock.Options{})
	n := 0
	l, err := tenure.New(store, tenure.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			lease, err := l.Acquire(ctx, "x")
			if err != nil {
				b.Fatal(err)
			}
			if lease.Token()&255 == 0 {
				n++
			}
			if err := lease.Release(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(n), "grants")
}
