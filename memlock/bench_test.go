package memlock

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

// silent hears nothing.
type silent struct{}

func (silent) Queued(*driver.Holder) {}
func (silent) Asked(string)          {}
func (silent) Lost(error)            {}

func request(name string) driver.Request {
	return driver.Request{Ref: driver.Ref{Name: name, Key: name}, Terms: driver.Terms{TTL: ttl}, Watch: silent{}}
}

func BenchmarkAcquireRelease(b *testing.B) {
	s, req, ctx := New(Options{}), request("x"), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		req.Acq++
		if _, err := s.Acquire(ctx, &req); err != nil {
			b.Fatal(err)
		}
		if err := s.Release(ctx, req.Ref); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNewNames never sees a name again, so each is made and forgotten.
func BenchmarkNewNames(b *testing.B) {
	s, req, ctx := New(Options{}), request(""), b.Context()
	names := make([]string, 1<<16)
	for i := range names {
		names[i] = fmt.Sprintf("invoice/%d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		req.Acq++
		req.Name = names[req.Acq%uint64(len(names))]
		req.Key = req.Name
		if _, err := s.Acquire(ctx, &req); err != nil {
			b.Fatal(err)
		}
		if err := s.Release(ctx, req.Ref); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParallelNames(b *testing.B) {
	s := New(Options{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		req, ctx := request(fmt.Sprint(acqs.Add(1))), b.Context()
		for pb.Next() {
			req.Acq++
			if _, err := s.Acquire(ctx, &req); err != nil {
				b.Error(err)
			}
			if err := s.Release(ctx, req.Ref); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkHandOver passes one name through the queue: every acquisition waits.
func BenchmarkHandOver(b *testing.B) {
	s := New(Options{})
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		req, ctx := request("x"), b.Context()
		req.Wait = true
		for pb.Next() {
			req.Acq = acqs.Add(1)
			if _, err := s.Acquire(ctx, &req); err != nil {
				b.Error(err)
			}
			if err := s.Release(ctx, req.Ref); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkTryHeld(b *testing.B) {
	s, req, ctx := New(Options{}), request("x"), b.Context()
	req.Acq = 1
	if _, err := s.Acquire(ctx, &req); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		req.Acq++
		if _, err := s.Acquire(ctx, &req); err == nil {
			b.Fatal("granted")
		}
	}
}

func BenchmarkRenewThousand(b *testing.B) {
	s, ctx := New(Options{}), b.Context()
	batch := make([]driver.Renewal, 1000)
	for i := range batch {
		req := request(fmt.Sprint(i))
		req.Acq = 1
		if _, err := s.Acquire(ctx, &req); err != nil {
			b.Fatal(err)
		}
		batch[i] = driver.Renewal{Ref: req.Ref, Terms: req.Terms}
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Renew(ctx, batch)
	}
}

// heapPerName is what the memory keeps for each of many held names, without the names themselves.
func heapPerName(names []string) (bytes int, keep *Store) {
	s, req := New(Options{}), request("")
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	for i, name := range names {
		req.Acq, req.Name, req.Key = uint64(i+1), name, name
		if _, _, err := s.try(&req); err != nil {
			panic(err)
		}
	}
	return int(heap()-before) / len(names), s
}
