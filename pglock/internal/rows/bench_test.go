package rows

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/tenurelock/tenure"
)

// BenchmarkAlone is one caller that acquires and releases.
func BenchmarkAlone(b *testing.B) {
	s := open(b, database(b, server))
	locker, err := tenure.New(s, tenure.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer locker.Close(b.Context())
	for b.Loop() {
		lease, err := locker.TryAcquire(b.Context(), "x")
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFifty is fifty callers with a name each, over one connection.
func BenchmarkFifty(b *testing.B) {
	s, count := openCounted(b, database(b, server))
	locker, err := tenure.New(s, tenure.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer locker.Close(b.Context())
	var callers atomic.Int64
	b.SetParallelism(25)
	before := count.statements.Load()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		name := fmt.Sprint(callers.Add(1))
		for pb.Next() {
			lease, err := locker.TryAcquire(b.Context(), name)
			if err != nil {
				b.Error(err)
				return
			}
			if err := lease.Release(b.Context()); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(count.statements.Load()-before)/float64(b.N), "statements/op")
}
