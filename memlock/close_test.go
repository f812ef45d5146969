package memlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
)

func closed(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, driver.ErrClosed) || kind(t, err) != driver.Lasting {
		t.Errorf("%s: %v", what, err)
	}
}

func TestCloseEndsASessionAndNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		other := s.Session()
		mine, theirs, reader := want("x"), want("y"), want("r", shared)
		granted(t, s, mine)
		granted(t, s, reader)
		granted(t, other, theirs)
		granted(t, other, want("r", shared))
		myWait := queue(t.Context(), t, s, want("y"))
		myNext := queue(t.Context(), t, s, want("x"))
		theirWait := queue(t.Context(), t, other, want("x"))
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*waiter{myWait, myNext} {
			if !w.over() {
				t.Fatal("a waiter of a closed session waits")
			}
			closed(t, "a waiter", w.err)
		}
		theirWait.got(t)
		for _, a := range []*ask{mine, reader} {
			if l := a.watch.losses(); len(l) != 1 || !errors.Is(l[0], driver.ErrClosed) {
				t.Errorf("the holder of %q was told %v", a.Name, l)
			}
		}
		if len(theirs.watch.losses()) != 0 {
			t.Error("another session lost something")
		}
		released(t, other, theirs)
		held(t, other, want("r"))
		again := s.Session() // the memory is still there
		held(t, again, want("x"))
		granted(t, again, want("y"))
	})
}

func TestNothingWorksAfterClose(t *testing.T) {
	s := New(Options{})
	a := want("x")
	granted(t, s, a)
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Acquire(t.Context(), &want("z", waiting).Request)
	closed(t, "Acquire", err)
	_, err = renewed(s, a)
	closed(t, "Renew", err)
	closed(t, "Release", s.Release(t.Context(), a.Ref))
	batch := []driver.Removal{{Ref: a.Ref}}
	s.Abandon(t.Context(), batch)
	closed(t, "Abandon", batch[0].Err)
	_, err = s.Inspect(t.Context(), "x")
	closed(t, "Inspect", err)
	if len(a.watch.losses()) != 1 {
		t.Errorf("told %v", a.watch.losses())
	}
	if s.Info().Kind != "memory" {
		t.Error("Info is gone")
	}
}

// TestAClosingSessionIsNotGrantedItsOwnSlots closes a session that holds slots and waits for one, in every order in
// which its names may be visited.
func TestAClosingSessionIsNotGrantedItsOwnSlots(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := New(Options{})
			for range 3 {
				granted(t, s, want("pool", three))
			}
			w := queue(t.Context(), t, s, want("pool", three))
			other := queue(t.Context(), t, s.Session(), want("pool", three))
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !w.over() || w.err == nil {
				t.Fatalf("granted to a closed session: %+v", w.grant)
			}
			other.got(t)
			next := s.Session()
			granted(t, next, want("pool", three))
			granted(t, next, want("pool", three))
			held(t, next, want("pool", three))
		})
	}
}

func TestLose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		if n := s.Lose("x"); n != 0 {
			t.Errorf("lost %d of nothing", n)
		}
		one, two := want("x", shared), want("x", shared)
		granted(t, s, one)
		granted(t, s.Session(), two)
		w := queue(t.Context(), t, s, want("x"))
		if n := s.Session().Lose("x"); n != 2 {
			t.Errorf("lost %d of two", n)
		}
		for _, a := range []*ask{one, two} {
			if l := a.watch.losses(); len(l) != 1 {
				t.Errorf("told %v", l)
			}
			notOurs(t, s, a)
		}
		w.got(t)
		time.Sleep(ttl)
		if n := s.Lose("x"); n != 0 {
			t.Errorf("lost %d that had expired", n)
		}
	})
}

func TestLoseQuietly(t *testing.T) {
	s := New(Options{})
	a := want("x")
	granted(t, s, a)
	if n := s.LoseQuietly("x"); n != 1 {
		t.Errorf("lost %d of one", n)
	}
	granted(t, s.Session(), want("x")) // two believe that they have it
	if l := a.watch.losses(); len(l) != 0 {
		t.Errorf("told %v", l)
	}
	notOurs(t, s, a)
}

// callsBack is a Watcher that does what none should, to show that it is called without the mutex.
type callsBack struct {
	s    *Store
	seen chan driver.Report
}

func (c callsBack) Queued(*driver.Holder) { c.Lost(nil) }
func (c callsBack) Asked(string)          { c.Lost(nil) }

func (c callsBack) Lost(error) {
	r, _ := c.s.Inspect(context.Background(), "x")
	c.seen <- r
}

func TestWatchersAreCalledWithoutTheMutex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		c := callsBack{s.Session(), make(chan driver.Report, 10)}
		a := want("x")
		a.Watch = c
		granted(t, s, a)
		b := want("x")
		b.Watch = c
		w := queue(t.Context(), t, s, b) // Queued
		time.Sleep(ttl)                  // Lost by the timer
		w.got(t)
		s.Lose("x")
		if n := len(c.seen); n != 3 {
			t.Errorf("called %d times", n)
		}
	})
}
