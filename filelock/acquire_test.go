package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

func TestOneHolder(t *testing.T) {
	dir := t.TempDir()
	one, two := session(t, dir), session(t, dir)
	req := want("a", func(r *driver.Request) { r.Holder.Note = "nightly" })
	before := driver.Now()
	grant := must(t, one, req)
	if grant.Proof.Sent < before || grant.Proof.Sent > driver.Now() || grant.Proof.Valid != time.Minute {
		t.Fatalf("proof %+v", grant.Proof)
	}
	for _, s := range []*Store{one, two} {
		who := held(t, s, want("a"))
		if who.PID != os.Getpid() || who.Note != "nightly" || who.Number != grant.Number || who.Acq != req.Acq ||
			who.Session != one.Info().Session || !who.Since.Equal(grant.Since) {
			t.Fatalf("held by %+v", who)
		}
		held(t, s, want("a", sharing))
	}
	must(t, two, want("worker-12"))
	must(t, two, want("worker-1")) // H15: whole names
	release(t, one, req)
	if next := must(t, two, want("a")); next.Number <= grant.Number {
		t.Fatalf("number %d after %d", next.Number, grant.Number)
	}
}

// TestNumbersRise: over re-opened stores, damaged, renamed and deleted files.
func TestNumbersRise(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.lock")
	var last int64
	for round, harm := range []func() error{
		func() error { return nil },
		func() error { return os.WriteFile(path, []byte("tenure lock 1\nsum 12345678\nrubbish"), 0o600) },
		func() error { return os.WriteFile(path, make([]byte, recordSize), 0o600) },
		func() error { return os.WriteFile(path, nil, 0o600) },
		func() error { return os.Remove(path) },
		func() error {
			rec := record{number: 1 << 54, state: exclusive, owner: "dead/1", name: "b", ran: time.Now().UnixNano()}
			return os.WriteFile(path, rec.encode(), 0o600)
		},
		func() error { return nil },
	} {
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		req := want("a", func(r *driver.Request) { r.Gap = time.Nanosecond })
		grant := must(t, s, req)
		if grant.Number <= last {
			t.Fatalf("round %d: %d after %d", round, grant.Number, last)
		}
		last = grant.Number
		release(t, s, req)
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if last <= 1<<54 {
		t.Fatalf("the record's number was not the floor: %d", last)
	}
	rec := record{number: driver.MaxNumber, state: free, name: "a"}
	if err := os.WriteFile(path, rec.encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := session(t, dir).Acquire(t.Context(), want("a"))
	faulty(t, err, driver.Lasting)
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	s := session(t, dir)
	for name, content := range map[string]string{
		"a.lock": "4711\n",
		"b.lock": "tenure lock 2\nand more",
		"c.door": "4711\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
			if name == "c.door" && mode == driver.Exclusive {
				continue
			}
			_, err := s.Acquire(t.Context(), want(name[:1], wait, func(r *driver.Request) { r.Mode = mode }))
			faulty(t, err, driver.Lasting)
		}
		if name != "c.door" {
			_, err := s.Inspect(t.Context(), name[:1])
			faulty(t, err, driver.Lasting)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Fatalf("%s became %q, %v", name, got, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "d.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := s.Acquire(t.Context(), want("d"))
	faulty(t, err, driver.Lasting)
}

func TestWaitEnds(t *testing.T) {
	dir := t.TempDir()
	s, other := session(t, dir), session(t, dir)
	holder := want("a")
	must(t, s, holder)

	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := async(t, ctx, other, want("a", wait))
	cancel(cause)
	waiting.ended(t)
	faulty(t, waiting.err, driver.Passing)
	if !errors.Is(waiting.err, cause) {
		t.Fatal(waiting.err)
	}

	req := want("a", wait)
	waiting = async(t, t.Context(), other, req)
	abandon(t, other, req.Ref)
	waiting.ended(t)
	faulty(t, waiting.err, driver.Passing)

	req = want("a", wait)
	waiting = async(t, t.Context(), other, req)
	release(t, s, holder)
	waiting.granted(t) // H21: nobody tells a waiter, it looks
	abandon(t, other, req.Ref)
	abandon(t, other, req.Ref)
	abandon(t, other, driver.Ref{Name: "never", Acq: 1 << 60})
	must(t, s, want("a"))
}

// TestWaiterIsQuick: a waiter sees a free name within 25 ms. The best of a few counts, the machine is shared.
func TestWaiterIsQuick(t *testing.T) {
	s := session(t, t.TempDir())
	best := time.Hour
	for range 5 {
		holder, next := want("a"), want("a", wait)
		must(t, s, holder)
		waiting := async(t, t.Context(), s, next)
		freed := time.Now()
		release(t, s, holder)
		waiting.granted(t)
		best = min(best, time.Since(freed))
		release(t, s, next)
	}
	if best > 25*time.Millisecond {
		t.Fatalf("at best %v", best)
	}
}

func TestCloseEndsAll(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWatch()
	req := want("a", watching(w))
	must(t, s, req)
	waiting := async(t, t.Context(), s, want("a", wait))
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	waiting.ended(t)
	faulty(t, waiting.err, driver.Lasting)
	if cause := <-w.lost; !errors.Is(cause, driver.ErrClosed) {
		t.Fatal(cause)
	}
	_, acquire := s.Acquire(t.Context(), want("b"))
	_, inspect := s.Inspect(t.Context(), "a")
	removals := []driver.Removal{{Ref: req.Ref}}
	s.Abandon(t.Context(), removals)
	for _, err := range []error{
		waiting.err, acquire, inspect, s.Release(t.Context(), req.Ref), removals[0].Err, renew(s, req).Err,
	} {
		faulty(t, err, driver.Lasting)
		if !errors.Is(err, driver.ErrClosed) {
			t.Fatal(err)
		}
	}
	must(t, session(t, dir), want("a"))
}

func TestSlots(t *testing.T) {
	dir := t.TempDir()
	s, other := session(t, dir), session(t, dir)
	pool := func(r *driver.Request) {
		for _, name := range []string{"pool#0", "pool#1", "pool#2"} {
			r.Slots = append(r.Slots, driver.Slot{Name: name})
		}
	}
	taken := map[int]*driver.Request{}
	for range 3 {
		req := want("pool", pool)
		grant := must(t, s, req)
		if taken[grant.Slot] != nil {
			t.Fatalf("slot %d twice", grant.Slot)
		}
		taken[grant.Slot] = req
		held(t, other, want("pool#"+string(rune('0'+grant.Slot))))
	}
	held(t, other, want("pool", pool))
	waiting := async(t, t.Context(), other, want("pool", pool, wait))
	release(t, s, taken[1])
	if grant := waiting.granted(t); grant.Slot != 1 {
		t.Fatalf("slot %d, but 1 is free", grant.Slot)
	}
	for _, wrong := range []*driver.Request{
		want("pool", pool, sharing),
		want("pool", pool, func(r *driver.Request) { r.Gap = time.Second }),
		want("a", sharing, func(r *driver.Request) { r.OncePer = time.Second }),
	} {
		if _, err := s.Acquire(t.Context(), wrong); !errors.Is(err, driver.ErrUnsupported) {
			t.Fatal(err)
		}
	}
}

func TestAcquisitionNumbersAreUsedOnce(t *testing.T) {
	s := session(t, t.TempDir())
	req := want("a")
	must(t, s, req)
	again := want("b")
	again.Acq = req.Acq
	_, err := s.Acquire(t.Context(), again)
	faulty(t, err, driver.Lasting)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Acquire(over, want("b"))
	faulty(t, err, driver.Passing)
}
