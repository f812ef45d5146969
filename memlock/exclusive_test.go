package memlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
)

func TestOneHolder(t *testing.T) {
	s := New(Options{})
	other := s.Session()
	first := want("x", func(r *driver.Request) { r.Holder = &driver.Holder{Host: "h", PID: 7, Program: "p", Note: "n"} })
	g := granted(t, s, first)

	by := held(t, other, want("x")).Holder
	if by.Host != "h" || by.PID != 7 || by.Program != "p" || by.Note != "n" || by.Session != s.Info().Session ||
		by.Acq != first.Acq || by.Number != g.Number || !by.Since.Equal(g.Since) {
		t.Errorf("the holder is told as %+v", by)
	}
	held(t, s, want("x")) // the same session excludes itself as well
	granted(t, other, want("y"))

	released(t, s, first)
	second := granted(t, other, want("x"))
	if second.Number <= g.Number {
		t.Errorf("number %d came after %d", second.Number, g.Number)
	}
}

func TestMemoriesAreSeparate(t *testing.T) {
	granted(t, New(Options{}), want("x"))
	granted(t, New(Options{}), want("x"))
}

func TestTheHolderIsCopied(t *testing.T) {
	s := New(Options{})
	holder := &driver.Holder{Note: "before"}
	granted(t, s, want("x", func(r *driver.Request) { r.Holder = holder }))
	holder.Note = "after"
	if got := held(t, s, want("x")).Holder.Note; got != "before" {
		t.Errorf("the store keeps the caller's value: %q", got)
	}
}

func TestH15OwnersAreComparedWhole(t *testing.T) {
	s := New(Options{})
	other := s.Session()
	a := want("x")
	granted(t, s, a)
	notOurs(t, other, a) // the same number in another session
	sibling := want("x")
	notOurs(t, s, sibling) // another number in the same session
	elsewhere := want("y", func(r *driver.Request) { r.Acq = a.Acq })
	notOurs(t, s, elsewhere)
	abandoned(t, other, a)
	abandoned(t, s, sibling)
	released(t, s, a)
}

func TestH16ALateReleaseTouchesNobodyElse(t *testing.T) {
	s := New(Options{})
	first, second := want("x"), want("x")
	granted(t, s, first)
	released(t, s, first)
	granted(t, s, second)
	notOurs(t, s, first)
	abandoned(t, s, first)
	released(t, s, second)
}

func TestAnAcquisitionNumberIsUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		again := func(a *ask) {
			t.Helper()
			if _, err := s.Acquire(t.Context(), &a.Request); err == nil || kind(t, err) != driver.Lasting {
				t.Fatalf("a second Acquire under one number: %v", err)
			}
		}
		again(a)
		w := queue(t.Context(), t, s, want("x"))
		again(w.ask)
		released(t, s, a)
		w.got(t)

		pool := want("pool", slots("pool#0"))
		granted(t, s, pool)
		again(pool)
		more := queue(t.Context(), t, s, want("pool", slots("pool#0")))
		again(more.ask)
		abandoned(t, s, more.ask)
	})
}

func TestAnEndedContextAsksNothing(t *testing.T) {
	s := New(Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := want("x")
	_, err := s.Acquire(ctx, &a.Request)
	if !errors.Is(err, context.Canceled) || kind(t, err) != driver.Passing {
		t.Fatalf("got %v", err)
	}
	granted(t, s, want("x"))
}

func TestH13ReleaseAndAbandonNeedNoContext(t *testing.T) {
	s := New(Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, b := want("x"), want("y")
	granted(t, s, a)
	granted(t, s, b)
	if err := s.Release(ctx, a.Ref); err != nil {
		t.Error(err)
	}
	batch := []driver.Removal{{Ref: b.Ref}}
	s.Abandon(ctx, batch)
	if batch[0].Err != nil {
		t.Error(batch[0].Err)
	}
	granted(t, s, want("x"))
	granted(t, s, want("y"))
}

func TestAbandonFreesAndForgets(t *testing.T) {
	s := New(Options{})
	a := want("x")
	abandoned(t, s, a) // never heard of
	granted(t, s, a)   // and the late request is granted: nothing was remembered
	abandoned(t, s, a)
	abandoned(t, s, a)
	notOurs(t, s, a)
	granted(t, s, want("x"))
}

func TestKeys(t *testing.T) {
	s := New(Options{})
	if _, err := s.Key(""); err == nil {
		t.Error("an empty name has a key")
	}
	if key, err := s.Key("a/b"); key != "a/b" || err != nil {
		t.Errorf("got %q, %v", key, err)
	}
}

func TestInfo(t *testing.T) {
	s := New(Options{})
	other := New(Options{TTL: time.Minute}).Session()
	info := s.Info()
	if info.Kind != "memory" || info.Address != "memory:" || info.TTL != DefaultTTL || info.FixedTTL ||
		!info.Features.Has(driver.CanShare|driver.CanSlots|driver.CanRemember) {
		t.Errorf("got %+v", info)
	}
	if other.Info().TTL != time.Minute {
		t.Errorf("a session has another TTL than its memory: %v", other.Info().TTL)
	}
	if info.Session == s.Session().Info().Session || info.Session == "" {
		t.Error("two sessions have one id")
	}
	if s.Attached() == nil || s.Attached() == s.Session().Attached() {
		t.Error("sessions share what the root package keeps")
	}
}
