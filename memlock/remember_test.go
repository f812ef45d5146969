package memlock

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// done must be refused since it was done in this period.
func done(t *testing.T, s *Store, a *ask) *driver.DoneError {
	t.Helper()
	_, err := s.Acquire(t.Context(), &a.Request)
	var already *driver.DoneError
	if !errors.As(err, &already) {
		t.Fatalf("%q gave %v; it is done", a.Name, err)
	}
	return already
}

func TestOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at midnight
		s := New(Options{})
		time.Sleep(50 * time.Minute)
		at := time.Now()
		a := want("job", oncePer(time.Hour))
		granted(t, s, a)
		done(t, s, want("job", oncePer(time.Hour))) // also while it is held: waiting would not help
		released(t, s, a)
		by := done(t, s.Session(), want("job", oncePer(time.Hour), waiting))
		if !by.Last.Equal(at) || !by.Next.Equal(at.Add(10*time.Minute)) {
			t.Errorf("done at %v, next from %v", by.Last, by.Next)
		}
		plain := want("job") // asks for no period, so it is neither refused nor remembered
		granted(t, s, plain)
		released(t, s, plain)
		if r, _ := s.Inspect(t.Context(), "job"); !r.LastRun.Equal(at) {
			t.Errorf("the last run was at %v", r.LastRun)
		}
		time.Sleep(10*time.Minute - 1)
		done(t, s, want("job", oncePer(time.Hour)))
		time.Sleep(time.Nanosecond)
		granted(t, s, want("job", oncePer(time.Hour)))
	})
}

func TestGapAfterTheLastGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("job", gap(time.Hour))
		g := granted(t, s, a)
		time.Sleep(time.Second)
		if by := held(t, s, want("job", gap(time.Hour))); by.Gap || by.Holder.Acq != a.Acq || by.RetryAfter != time.Hour-time.Second {
			t.Errorf("while it is held: %+v", by)
		}
		released(t, s, a)
		for _, again := range []*ask{want("job", gap(time.Hour)), want("job", gap(time.Hour), waiting)} {
			by := held(t, s, again)
			if !by.Gap || by.Holder.Acq != a.Acq || !by.Holder.Since.Equal(g.Since) || by.RetryAfter != time.Hour-time.Second {
				t.Errorf("in the gap: %+v", by)
			}
		}
		granted(t, s, want("job", gap(time.Second))) // its own gap has passed
		time.Sleep(time.Hour - 1)
		held(t, s, want("job", gap(time.Hour)))
		time.Sleep(time.Nanosecond)
		granted(t, s, want("job", gap(time.Hour)))
	})
}

func TestBothKindsRememberForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("job", gap(time.Second))
		granted(t, s, a)
		released(t, s, a)
		done(t, s, want("job", oncePer(time.Hour)))
		b := want("other", oncePer(time.Hour))
		granted(t, s, b)
		released(t, s, b)
		if by := held(t, s, want("other", gap(time.Minute))); !by.Gap {
			t.Errorf("got %+v", by)
		}
	})
}

func TestAWaiterIsJudgedWhenItsTurnComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("job")
		granted(t, s, a)
		first := queue(t.Context(), t, s, want("job", oncePer(time.Hour)))
		again := queue(t.Context(), t, s, want("job", oncePer(time.Hour)))
		spaced := queue(t.Context(), t, s, want("job", gap(time.Minute)))
		plain := queue(t.Context(), t, s, want("job"))
		released(t, s, a)
		first.got(t)
		again.waits(t)
		released(t, s, first.ask)
		var already *driver.DoneError
		if !again.over() || !errors.As(again.err, &already) {
			t.Errorf("a waiter whose job was done meanwhile: %v", again.err)
		}
		var by *driver.HeldError
		if !spaced.over() || !errors.As(spaced.err, &by) || !by.Gap || by.RetryAfter != time.Minute {
			t.Errorf("a waiter within the gap: %v", spaced.err)
		}
		plain.got(t)
	})
}

func TestARunIsRememberedAsLongAsItMatters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("job", gap(time.Hour))
		granted(t, s, a)
		released(t, s, a)
		crowd := func() {
			for i := range 4 * fewIdle {
				a := want(fmt.Sprint("other", i))
				granted(t, s, a)
				released(t, s, a)
			}
		}
		time.Sleep(time.Hour - 1)
		crowd()
		if s.memory.places["job"] == nil {
			t.Fatal("forgotten in the gap")
		}
		held(t, s, want("job", gap(time.Hour)))
		time.Sleep(time.Nanosecond)
		crowd()
		if s.memory.places["job"] != nil {
			t.Error("remembered for ever")
		}
	})
}

func TestARunOfALaterPeriodCounts(t *testing.T) {
	r := &run{ns: int64(25 * time.Hour)}
	for wall, want := range map[time.Duration]bool{23 * time.Hour: true, 24 * time.Hour: true, 48*time.Hour - 1: true, 48 * time.Hour: false} {
		if next, got := r.doneUntil(int64(wall), 24*time.Hour); got != want || next.UnixNano() != int64(48*time.Hour) {
			t.Errorf("at %v: done %v until %v", wall, got, next)
		}
	}
}
