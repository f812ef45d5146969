package memlock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
)

func TestAGrantExpiresATTLAfterItsLastRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		for range 5 {
			time.Sleep(ttl - time.Nanosecond)
			asked := driver.Now()
			if proof, err := renewed(s, a); err != nil || proof.Sent != asked || proof.Valid != ttl {
				t.Fatalf("renewed with %+v, %v", proof, err)
			}
		}
		time.Sleep(ttl - time.Nanosecond)
		held(t, s, want("x"))
		time.Sleep(time.Nanosecond)
		granted(t, s, want("x"))
		notOurs(t, s, a)
		if len(a.watch.losses()) != 1 {
			t.Errorf("the old holder was told %v", a.watch.losses())
		}
	})
}

func TestH8AnExpiredGrantIsNotRevived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		time.Sleep(ttl)
		if _, err := renewed(s, a); !errors.Is(err, driver.ErrNotOurs) { // although nobody else has it
			t.Fatalf("got %v", err)
		}
		notOurs(t, s, a)
	})
}

func TestAShorterTTLDoesNotUndercutAnEarlierProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		a.Terms.TTL = time.Second
		if proof, err := renewed(s, a); err != nil || proof.Valid != time.Second {
			t.Fatalf("got %+v, %v", proof, err)
		}
		time.Sleep(ttl - 1)
		held(t, s, want("x"))
		if _, err := renewed(s, a); err != nil {
			t.Fatalf("the earlier proof is still good: %v", err)
		}
		time.Sleep(time.Second) // and this one was for a second
		granted(t, s, want("x"))
	})
}

func TestNoTTLIsTheDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		if g := granted(t, s, want("x", lasting(0))); g.Proof.Valid != DefaultTTL {
			t.Errorf("valid for %v", g.Proof.Valid)
		}
		time.Sleep(DefaultTTL - 1)
		held(t, s, want("x"))
	})
}

func TestTheFirstWaiterGetsAnExpiredNameAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		dead := want("x")
		granted(t, s, dead)
		time.Sleep(ttl / 2)
		first := queue(t.Context(), t, s.Session(), want("x"))
		second := queue(t.Context(), t, s.Session(), want("x"))
		time.Sleep(ttl/2 - 1)
		first.waits(t)
		time.Sleep(time.Nanosecond)
		first.got(t)
		second.waits(t)
		if len(dead.watch.losses()) != 1 {
			t.Errorf("the dead holder was told %v", dead.watch.losses())
		}
		time.Sleep(ttl - 1) // the TTL of the first began with its grant
		second.waits(t)
		time.Sleep(time.Nanosecond)
		second.got(t)
	})
}

func TestARenewalHoldsWaitersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		w := queue(t.Context(), t, s, want("x"))
		for range 10 {
			time.Sleep(ttl - 1)
			if _, err := renewed(s, a); err != nil {
				t.Fatal(err)
			}
			w.waits(t)
		}
		time.Sleep(ttl)
		w.got(t)
	})
}

func TestAShorterHolderIsLookedAfterInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x", lasting(time.Hour))
		granted(t, s, a)
		brief := queue(t.Context(), t, s, want("x", lasting(time.Second)))
		last := queue(t.Context(), t, s, want("x"))
		released(t, s, a) // the timer was set an hour ahead
		brief.got(t)
		time.Sleep(time.Second - 1)
		last.waits(t)
		time.Sleep(time.Nanosecond)
		last.got(t)
	})
}

func TestAGrantIsTrustedFromTheLastStillWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		asked := driver.Now()
		w := queue(t.Context(), t, s, want("x"))
		time.Sleep(ttl/4 - 1)
		released(t, s, a)
		if g := w.got(t); g.Proof.Sent != asked || g.Proof.Valid != ttl {
			t.Errorf("before the first question: %+v, asked at %d", g.Proof, asked)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("x")
		granted(t, s, a)
		w := queue(t.Context(), t, s, want("x"))
		for range 100 { // far longer than a TTL
			time.Sleep(ttl / 10)
			if _, err := renewed(s, a); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(ttl / 5)
		now := driver.Now()
		released(t, s, a)
		if age := now.Sub(w.got(t).Proof.Sent); age != ttl/5 {
			t.Errorf("trust runs from %v before the grant; the last question was %v before", age, ttl/5)
		}
	})
}

func TestTheStoresPromiseCoversTheTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		g := granted(t, s, want("x"))
		time.Sleep(g.Proof.Sent.Add(g.Proof.Valid).Sub(driver.Now()) - 1)
		held(t, s, want("x"))
	})
}

func TestManyRenewalsAtOnce(t *testing.T) {
	s := New(Options{})
	a, b, c := want("x"), want("y"), want("z")
	granted(t, s, a)
	granted(t, s, c)
	batch := []driver.Renewal{{Ref: a.Ref, Terms: a.Terms}, {Ref: b.Ref, Terms: b.Terms, Err: driver.ErrClosed}, {Ref: c.Ref, Terms: c.Terms, Err: driver.ErrClosed}}
	s.Renew(t.Context(), batch)
	if batch[0].Err != nil || !errors.Is(batch[1].Err, driver.ErrNotOurs) || batch[2].Err != nil {
		t.Errorf("got %v, %v, %v", batch[0].Err, batch[1].Err, batch[2].Err)
	}
	granted(t, s, b) // the renewal made nothing (H4)
}
