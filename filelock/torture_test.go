package filelock

import (
	"errors"
	"sync"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

// TestManyHolders: over two sessions and many goroutines one holds a name at a time, and each name's numbers rise.
func TestManyHolders(t *testing.T) {
	dir := t.TempDir()
	stores := []*Store{session(t, dir), session(t, dir)}
	var mu sync.Mutex
	holders, last := map[string]int{}, map[string]int64{}
	together(12, func(i int) {
		s, name := stores[i%2], string(rune('a'+i%3))
		for granted := 0; granted < 40; {
			req := want(name)
			req.Wait = i%4 == 0
			grant, err := s.Acquire(t.Context(), req)
			if refusal := new(driver.HeldError); errors.As(err, &refusal) {
				req.Wait, req.Acq = true, lastAcq.Add(1)
				grant, err = s.Acquire(t.Context(), req)
			}
			if err != nil {
				t.Error(err)
				return
			}
			granted++
			mu.Lock()
			if holders[name]++; holders[name] != 1 {
				t.Errorf("%d hold %s", holders[name], name)
			}
			if grant.Number <= last[name] {
				t.Errorf("%d after %d", grant.Number, last[name])
			}
			last[name] = grant.Number
			mu.Unlock()
			mu.Lock()
			holders[name]--
			mu.Unlock()
			if err := s.Release(t.Context(), req.Ref); err != nil {
				t.Error(err)
			}
		}
	})
}

func BenchmarkAcquireRelease(b *testing.B) {
	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
		b.Run(mode.String(), func(b *testing.B) {
			s := session(b, b.TempDir())
			req := want("report/daily", func(r *driver.Request) { r.Mode = mode })
			b.ReportAllocs()
			for b.Loop() {
				req.Acq++
				must(b, s, req)
				release(b, s, req)
			}
		})
	}
}

func BenchmarkTryHeld(b *testing.B) {
	s := session(b, b.TempDir())
	must(b, s, want("report/daily"))
	req := want("report/daily")
	for b.Loop() {
		req.Acq++
		held(b, s, req)
	}
}

func BenchmarkRenew(b *testing.B) {
	s := session(b, b.TempDir())
	req := want("report/daily")
	must(b, s, req)
	for b.Loop() {
		if r := renew(s, req); r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}
