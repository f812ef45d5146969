package memlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
)

func TestFirstInFirstOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		holder := want("x")
		last := granted(t, s, holder)
		var line []*waiter
		for range 20 {
			line = append(line, queue(t.Context(), t, s.Session(), want("x")))
		}
		sessions := s
		for i, w := range line {
			if i == 0 {
				released(t, sessions, holder)
			}
			g := w.got(t)
			if g.Number <= last.Number {
				t.Fatalf("number %d came after %d", g.Number, last.Number)
			}
			last = g
			if i+1 < len(line) {
				line[i+1].waits(t)
			}
			s.LoseQuietly("x")
		}
	})
}

func TestATryNeverPassesAWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		w := queue(t.Context(), t, s, want("x"))
		released(t, s, a) // and no time for the waiter to run
		held(t, s, want("x"))
		w.got(t)
	})
}

func TestQueuedIsToldWithTheHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		if len(a.watch.queues()) != 0 {
			t.Error("a grant at once was told as queued")
		}
		w := queue(t.Context(), t, s, want("x"))
		if q := w.watch.queues(); len(q) != 1 || q[0].Acq != a.Acq {
			t.Errorf("told %+v", q)
		}
		released(t, s, a)
		w.got(t)
	})
}

func TestAWaiterWhoseContextEndsLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := queue(ctx, t, s, want("x"))
		behind := queue(t.Context(), t, s, want("x"))
		time.Sleep(time.Second)
		if !w.over() || !errors.Is(w.err, context.DeadlineExceeded) || kind(t, w.err) != driver.Passing {
			t.Fatalf("got %+v, %v", w.grant, w.err)
		}
		notOurs(t, s, w.ask)
		behind.waits(t)
		released(t, s, a)
		behind.got(t)
	})
}

// TestH12AGrantInTheInstantOfCancellation has the grant and the end of the context ready before the waiter can run.
func TestH12AGrantInTheInstantOfCancellation(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			s := New(Options{})
			a := want("x")
			granted(t, s, a)
			ctx, cancel := context.WithCancel(t.Context())
			w := queue(ctx, t, s, want("x"))
			cancel()
			released(t, s, a)
			if !w.over() {
				t.Fatal("it still waits")
			}
			if w.err == nil {
				released(t, s, w.ask)
			}
			granted(t, s, want("x"))
		})
	}
}

func TestAbandonEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		w := queue(t.Context(), t, s, want("x"))
		behind := queue(t.Context(), t, s, want("x"))
		abandoned(t, s, w.ask)
		if !w.over() || w.err == nil || kind(t, w.err) != driver.Passing {
			t.Fatalf("got %+v, %v", w.grant, w.err)
		}
		abandoned(t, s, a) // passes on
		behind.got(t)
	})
}

func TestReleasingOrRenewingAWaiterDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		w := queue(t.Context(), t, s, want("x"))
		notOurs(t, s, w.ask)
		w.waits(t)
		released(t, s, a)
		w.got(t)
	})
}

func TestTimersEndWithTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		ctx, cancel := context.WithCancel(t.Context())
		w := queue(ctx, t, s, want("x"))
		if s.memory.places["x"].timer == nil {
			t.Error("nobody looks after the holder of a wanted name")
		}
		cancel()
		w.over()
		if s.memory.places["x"].timer != nil {
			t.Error("a timer runs for a name that nobody waits for")
		}
	})
}

func TestInspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		inspect := func(name string) driver.Report {
			t.Helper()
			r, err := s.Inspect(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := inspect("x"); r.Holders != nil || r.Waiters != nil || !r.LastRun.IsZero() {
			t.Errorf("of nothing: %+v", r)
		}
		if len(s.memory.places) != 0 {
			t.Error("looking made a place")
		}
		one, two := want("x", shared), want("x", shared)
		granted(t, s, one)
		granted(t, s, two)
		time.Sleep(time.Second)
		w := queue(t.Context(), t, s, want("x"))
		r := inspect("x")
		if len(r.Holders) != 2 || r.Holders[0].Acq != one.Acq || r.Holders[1].Mode != driver.Shared || len(r.Waiters) != 1 ||
			r.Waiters[0].Acq != w.Acq || r.Waiters[0].Number != 0 || !r.Waiters[0].Since.Equal(time.Now()) {
			t.Errorf("got %+v", r)
		}
		released(t, s, one)
		released(t, s, two)
		w.got(t)
		time.Sleep(ttl)
		if r := inspect("x"); r.Holders != nil {
			t.Errorf("an expired holder is shown: %+v", r)
		}
	})
}
