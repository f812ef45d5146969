package memlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// slot is the acquisition as its holder names it after the grant: by the slot's own name.
func slot(a *ask, g driver.Grant) *ask {
	b := &ask{Request: a.Request, watch: a.watch}
	b.Name, b.Key, b.Slots = a.Slots[g.Slot].Name, a.Slots[g.Slot].Key, nil
	return b
}

var three = slots("pool#0", "pool#1", "pool#2")

func TestNobodyWaitsWhileASlotIsFree(t *testing.T) {
	s := New(Options{})
	var taken []*ask
	for i := range 3 {
		a := want("pool", three)
		g := granted(t, s.Session(), a)
		if g.Slot != i {
			t.Errorf("slot %d, not the first free one, %d", g.Slot, i)
		}
		taken = append(taken, slot(a, g))
	}
	held(t, s, want("pool", three))
	held(t, s, want("pool#1"))
	granted(t, s, want("pool")) // the group's own name is not a slot
	s.Lose("pool#1")
	if g := granted(t, s, want("pool", three)); g.Slot != 1 {
		t.Errorf("slot %d, not the freed one", g.Slot)
	}
	notOurs(t, s, taken[1])
}

func TestSlotsAreLeasesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a, b := want("pool", three), want("pool", three)
		one := slot(a, granted(t, s, a))
		two := slot(b, granted(t, s, b))
		time.Sleep(ttl - 1)
		if _, err := renewed(s, one); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Nanosecond)
		notOurs(t, s, two)
		released(t, s, one)
	})
}

func TestSlotWaitersAreFirstInFirstOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		var holders []*ask
		for range 3 {
			a := want("pool", three)
			holders = append(holders, slot(a, granted(t, s, a)))
		}
		first := queue(t.Context(), t, s, want("pool", three))
		direct := queue(t.Context(), t, s, want("pool#1")) // wants this one by its name
		second := queue(t.Context(), t, s, want("pool", three))
		if r, _ := s.Inspect(t.Context(), "pool"); len(r.Waiters) != 2 || r.Waiters[0].Acq != first.Acq {
			t.Errorf("the group's waiters: %+v", r)
		}
		released(t, s, holders[2])
		if g := first.got(t); g.Slot != 2 {
			t.Errorf("slot %d, not the freed one", g.Slot)
		}
		held(t, s, want("pool", three))
		released(t, s, holders[1])
		direct.got(t) // came before the second
		second.waits(t)
		time.Sleep(ttl) // the holder of 0 is dead
		second.got(t)
		for key, p := range s.memory.places {
			if p.slots != nil {
				t.Errorf("%q has a part in a group without waiters", key)
			}
		}
	})
}

func TestOverlappingGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a, b := want("a"), want("b")
		granted(t, s, a)
		granted(t, s, b)
		onlyB := queue(t.Context(), t, s, want("g", slots("b")))
		either := queue(t.Context(), t, s, want("h", slots("a", "b")))
		same := queue(t.Context(), t, s, want("g", slots("b", "a", "a")))
		released(t, s, a)
		either.got(t) // the first in line does not want this one
		onlyB.waits(t)
		same.waits(t)
		released(t, s, b)
		onlyB.got(t)
		s.Lose("a")
		if g := same.got(t); g.Slot != 1 {
			t.Errorf("slot %d", g.Slot)
		}
	})
}

func TestASlotWaiterThatGivesUpStrandsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		a := want("pool", slots("pool#0"))
		holder := slot(a, granted(t, s, a))
		ctx, cancel := context.WithCancel(t.Context())
		gone := queue(ctx, t, s, want("pool", slots("pool#0")))
		removed := queue(t.Context(), t, s, want("pool", slots("pool#0")))
		next := queue(t.Context(), t, s, want("pool", slots("pool#0")))
		cancel()
		gone.over()
		abandoned(t, s, removed.ask)
		if !removed.over() || removed.err == nil {
			t.Fatal("an abandoned waiter waits")
		}
		released(t, s, holder)
		next.got(t)
		abandoned(t, s, next.ask) // with all its slots: it is not known which
		granted(t, s, want("pool#0"))
	})
}

func TestAWaiterForSlotsHoldsBackReadersOfASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		reader := want("a", shared)
		granted(t, s, reader)
		w := queue(t.Context(), t, s, want("g", slots("a")))
		held(t, s, want("a", shared))
		released(t, s, reader)
		w.got(t)
	})
}

func TestWhatSlotsCannotDo(t *testing.T) {
	s := New(Options{})
	for name, a := range map[string]*ask{
		"OncePer with slots": want("x", three, oncePer(time.Hour)),
		"Gap with slots":     want("x", three, gap(time.Hour)),
		"shared slots":       want("x", three, shared),
		"OncePer shared":     want("x", shared, oncePer(time.Hour)),
		"Gap shared":         want("x", shared, gap(time.Hour)),
	} {
		if _, err := s.Acquire(t.Context(), &a.Request); err == nil || kind(t, err) != driver.Lasting {
			t.Errorf("%s: %v", name, err)
		}
	}
}
