package memlock

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
)

func TestNumbersRiseOnAStandingClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes in here, and it begins in the year 2000
		s := New(Options{})
		var last int64
		for range 1000 {
			a := want("x")
			g := granted(t, s, a)
			if g.Number <= last || g.Number > driver.MaxNumber {
				t.Fatalf("number %d after %d", g.Number, last)
			}
			last = g.Number
			released(t, s, a)
		}
	})
}

func TestNumbersAreOnTheScaleOfMicroseconds(t *testing.T) {
	s := New(Options{})
	before := time.Now().UnixMicro()
	g := granted(t, s, want("x"))
	if g.Number < before || g.Number > time.Now().UnixMicro() || g.Since.UnixMicro() != g.Number {
		t.Errorf("number %d, granted at %v", g.Number, g.Since)
	}
}

// TestAForgottenNameRisesAgain pushes a name out of the memory between its grants, while no time passes.
func TestAForgottenNameRisesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		var last int64
		for round := range 5 {
			for range 1000 { // far above the clock
				a := want("x")
				g := granted(t, s, a)
				if g.Number <= last {
					t.Fatalf("number %d after %d", g.Number, last)
				}
				last = g.Number
				released(t, s, a)
			}
			for i := range 4 * fewIdle {
				a := want(fmt.Sprint("other", round, i))
				granted(t, s, a)
				released(t, s, a)
			}
			if s.memory.places["x"] != nil {
				t.Fatal("the name was not forgotten, so this tests nothing")
			}
		}
	})
}

func TestWhatNobodyUsesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		const many = 6000
		var all []*ask
		for i := range many {
			a := want(fmt.Sprint(i))
			granted(t, s, a)
			all = append(all, a)
		}
		if len(s.memory.places) != many {
			t.Fatalf("%d places for %d held names", len(s.memory.places), many)
		}
		for _, a := range all[:many/2] {
			released(t, s, a)
		}
		if n := len(s.memory.places); n > many {
			t.Errorf("%d places for %d held names", n, many/2)
		}
		for _, a := range all[many/2:] {
			released(t, s, a)
		}
		if n := len(s.memory.places); n > 2*fewIdle {
			t.Errorf("%d places for no held name", n)
		}
		for i := range many { // nobody gives these back, and nobody asks again
			granted(t, s, want(fmt.Sprint("dead", i)))
		}
		time.Sleep(ttl)
		for i := range many + fewPlaces {
			granted(t, s, want(fmt.Sprint("next", i)))
		}
		if n := len(s.memory.places); n > many+many/4 {
			t.Errorf("%d places for %d held names: the dead are kept", n, many)
		}
		if c, p := len(s.memory.claims.kept), len(s.memory.unused.kept); c > maxSpare || p > maxSpare {
			t.Errorf("%d claims and %d places are kept for use again", c, p)
		}
	})
}

// TestTheIdleAreCountedRight compares the count with what is there, after everything that can happen to a place.
func TestTheIdleAreCountedRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		check := func() {
			t.Helper()
			idle := 0
			for _, p := range s.memory.places {
				if p.isUnused() {
					idle++
				}
			}
			if idle != s.memory.idle {
				t.Fatalf("%d places are idle and %d are counted", idle, s.memory.idle)
			}
		}
		a, b, c := want("a"), want("pool", slots("a", "b")), want("pool", slots("a", "b"))
		granted(t, s, a)
		check()
		onB := slot(b, granted(t, s, b))
		check()
		w := queue(t.Context(), t, s, c)
		check()
		released(t, s, onB)
		w.got(t)
		check()
		held(t, s, want("a"))
		check()
		abandoned(t, s, c)
		check()
		s.Lose("a")
		check()
		once := want("once", oncePer(time.Hour))
		granted(t, s, once)
		released(t, s, once)
		check()
		x := want("x")
		granted(t, s, x)
		time.Sleep(ttl)
		held := want("x")
		granted(t, s, held)
		check()
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		check()
	})
}

func TestAcquireAndReleaseAllocateNothing(t *testing.T) {
	s, req, ctx := New(Options{}), request("x"), t.Context()
	if n := testing.AllocsPerRun(100, func() {
		req.Acq++
		if _, err := s.Acquire(ctx, &req); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(ctx, req.Ref); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAHeldNameTakesUnder400Bytes(t *testing.T) {
	names := make([]string, 20_000)
	for i := range names {
		names[i] = fmt.Sprintf("invoice/%d", i)
	}
	bytes, store := heapPerName(names)
	if bytes > 400 {
		t.Errorf("%d bytes", bytes)
	}
	t.Logf("%d bytes for each held name", bytes)
	runtime.KeepAlive(store)
	runtime.KeepAlive(names)
}
