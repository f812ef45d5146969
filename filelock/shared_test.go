package filelock

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

func TestReadersShare(t *testing.T) {
	dir := t.TempDir()
	s, other := session(t, dir), session(t, dir)
	one, two := want("a", sharing), want("a", sharing)
	first, second := must(t, s, one), must(t, other, two)
	if second.Number <= first.Number {
		t.Fatal(first, second)
	}
	held(t, s, want("a"))
	for _, r := range []driver.Renewal{renew(s, one), renew(other, two)} {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	release(t, s, one)
	held(t, s, want("a"))
	release(t, other, two)
	writer := want("a")
	if grant := must(t, s, writer); grant.Number <= second.Number {
		t.Fatal(grant, second)
	}
	held(t, other, want("a", sharing))
	release(t, s, writer)
	must(t, other, want("a", sharing))
}

// TestWriterHoldsReadersBack: a waiting writer is not starved, and leaves nothing behind, granted or given up (H24).
func TestWriterHoldsReadersBack(t *testing.T) {
	dir := t.TempDir()
	s, other := session(t, dir), session(t, dir)
	reader := want("a", sharing)
	must(t, s, reader)
	for _, end := range []string{"gives up", "is granted"} {
		ctx, cancel := context.WithCancel(t.Context())
		writer := want("a", wait)
		waiting := async(t, ctx, other, writer)
		eventually(t, "a later reader is held back", func() bool {
			req := want("a", sharing)
			_, err := s.Acquire(t.Context(), req)
			if err == nil {
				release(t, s, req)
			}
			return err != nil
		})
		if end == "gives up" {
			cancel()
			waiting.ended(t)
			another := want("a", sharing)
			must(t, s, another)
			release(t, s, another)
			continue
		}
		late := async(t, t.Context(), s, want("a", sharing, wait))
		release(t, s, reader)
		waiting.granted(t)
		release(t, other, writer)
		late.granted(t)
		must(t, s, want("a", sharing))
		cancel()
	}
}

func TestMarks(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		what string
		at   time.Duration
		want bool
	}{
		{"fresh", -100 * time.Millisecond, true},
		{"stale", -400 * time.Millisecond, false},
		{"from before a step of the clock", time.Hour, false},
	} {
		if got := (mark{writer: 1, at: now.Add(c.at).UnixNano()}).stands(now); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	for _, text := range []string{"", "x", "1 2", "g 2 3", "1 2 x", "0 0 0"} {
		if m := parseMark([]byte(text)); m.stands(now) {
			t.Errorf("%q is %+v", text, m)
		}
	}
}

// TestOldestWriterMarks: of several writers the one that has waited longest is marked; who has waited longer than it, is
// not held back.
func TestOldestWriterMarks(t *testing.T) {
	s := session(t, t.TempDir())
	reader := want("a", sharing)
	must(t, s, reader)
	path, err := s.path("a")
	if err != nil {
		t.Fatal(err)
	}
	older, newer := newDoor(path), newDoor(path)
	defer older.close()
	defer newer.close()
	now := time.Now()
	newer.announce(now.Add(-time.Second), now)
	older.announce(now.Add(-time.Minute), now)
	newer.announce(now.Add(-time.Second), now)
	if m, err := newer.read(); err != nil || m.writer != older.me {
		t.Fatal(m, err)
	}
	newer.withdraw() // not its own
	if m, err := newer.read(); err != nil || m.writer != older.me {
		t.Fatal(m, err)
	}
	held(t, s, want("a", sharing))
	older.withdraw()
	must(t, s, want("a", sharing))
}

// TestManyReadersAndWriters: nobody is beside a writer, and all numbers differ, in the order of the writers' grants.
func TestManyReadersAndWriters(t *testing.T) {
	dir := t.TempDir()
	stores := []*Store{session(t, dir), session(t, dir)}
	var mu sync.Mutex
	writers, readers, seen, lastWriter := 0, 0, map[int64]bool{}, int64(0)
	together(8, func(i int) {
		for round := range 12 {
			req := want("a", wait)
			if (i+round)%3 != 0 {
				req.Mode = driver.Shared
			}
			s := stores[i%2]
			grant, err := s.Acquire(t.Context(), req)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			if req.Mode == driver.Shared {
				readers++
			} else {
				writers++
				if grant.Number <= lastWriter {
					t.Errorf("%d after %d", grant.Number, lastWriter)
				}
				lastWriter = grant.Number
			}
			if writers > 1 || writers == 1 && readers > 0 {
				t.Errorf("%d writers beside %d readers", writers, readers)
			}
			if seen[grant.Number] {
				t.Errorf("%d twice", grant.Number)
			}
			seen[grant.Number] = true
			mu.Unlock()
			if r := renew(s, req); r.Err != nil {
				t.Error(r.Err)
			}
			mu.Lock()
			if req.Mode == driver.Shared {
				readers--
			} else {
				writers--
			}
			mu.Unlock()
			if err := s.Release(t.Context(), req.Ref); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestReadersAreNumberedInTurn: the record is ahead of the clock here, so that only the door keeps numbers apart.
func TestReadersAreNumberedInTurn(t *testing.T) {
	dir := t.TempDir()
	ahead := record{number: 1 << 54, state: free, name: "a"}
	if err := os.WriteFile(filepath.Join(dir, "a.lock"), ahead.encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	stores := []*Store{session(t, dir), session(t, dir)}
	const readers, each = 8, 50
	var mu sync.Mutex
	seen := map[int64]bool{}
	together(readers, func(i int) {
		for range each {
			grant, err := stores[i%2].Acquire(t.Context(), want("a", sharing, wait))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			seen[grant.Number] = true
			mu.Unlock()
		}
	})
	if len(seen) != readers*each {
		t.Fatalf("%d grants have %d numbers", readers*each, len(seen))
	}
}
