package memlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadersShareAndWritersDoNot(t *testing.T) {
	s := New(Options{})
	one, two, writer := want("x", shared), want("x", shared), want("x")
	first := granted(t, s, one)
	second := granted(t, s.Session(), two)
	if second.Number <= first.Number {
		t.Errorf("reader %d came after %d", second.Number, first.Number)
	}
	held(t, s, want("x"))
	released(t, s, one)
	held(t, s, want("x"))
	s.Lose("x")
	granted(t, s, writer)
	held(t, s, want("x", shared))
}

func TestAWaitingWriterHoldsBackLaterReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		reader := want("x", shared)
		granted(t, s, reader)
		writer := queue(t.Context(), t, s, want("x"))
		held(t, s, want("x", shared)) // a try
		late := queue(t.Context(), t, s, want("x", shared))
		later := queue(t.Context(), t, s, want("x", shared))
		lastWriter := queue(t.Context(), t, s, want("x"))
		after := queue(t.Context(), t, s, want("x", shared))

		released(t, s, reader)
		writer.got(t)
		late.waits(t)
		released(t, s, writer.ask)
		late.got(t) // both readers at once, and not the one behind the second writer
		later.got(t)
		lastWriter.waits(t)
		after.waits(t)
		released(t, s, late.ask)
		lastWriter.waits(t)
		released(t, s, later.ask)
		lastWriter.got(t)
		after.waits(t)
		released(t, s, lastWriter.ask)
		after.got(t)
	})
}

func TestAWriterThatGivesUpLetsReadersIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		granted(t, s, want("x", shared))
		ctx, cancel := context.WithCancel(t.Context())
		writer := queue(ctx, t, s, want("x"))
		reader := queue(t.Context(), t, s, want("x", shared))
		cancel()
		writer.over()
		reader.got(t)

		abandonedWriter := queue(t.Context(), t, s, want("x"))
		next := queue(t.Context(), t, s, want("x", shared))
		abandoned(t, s, abandonedWriter.ask)
		next.got(t)
	})
}

func TestReadersExpireOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		one, two := want("x", shared), want("x", shared)
		granted(t, s, one)
		time.Sleep(time.Second)
		granted(t, s, two)
		writer := queue(t.Context(), t, s, want("x"))
		time.Sleep(ttl - time.Second)
		notOurs(t, s, one)
		if _, err := renewed(s, two); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ttl - 1)
		writer.waits(t)
		time.Sleep(time.Nanosecond)
		writer.got(t)
	})
}

// TestACrowd takes so many readers, and then waiters, that they are found by an index, and out of order.
func TestACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		other := s.Session()
		var readers []*ask
		for range 5 * crowd {
			a := want("x", shared)
			granted(t, s, a)
			readers = append(readers, a)
			notOurs(t, other, a)
		}
		if _, err := s.Acquire(t.Context(), &readers[crowd/2].Request); err == nil {
			t.Error("a second Acquire under one number")
		}
		writer := queue(t.Context(), t, other, want("x"))
		for i := range readers {
			a := readers[(i*7)%len(readers)]
			if _, err := renewed(s, a); err != nil {
				t.Fatal(err)
			}
			writer.waits(t)
			released(t, s, a)
			notOurs(t, s, a)
		}
		writer.got(t)

		var line []*waiter
		for range 3 * crowd {
			line = append(line, queue(t.Context(), t, s, want("x")))
		}
		for i := len(line) - 2; i > 0; i-- {
			abandoned(t, other, line[i].ask) // another session's
			line[i].waits(t)
			abandoned(t, s, line[i].ask)
			if !line[i].over() {
				t.Fatal("an abandoned waiter waits")
			}
		}
		released(t, other, writer.ask)
		line[0].got(t)
		released(t, s, line[0].ask)
		line[len(line)-1].got(t)
		if l := s.memory.places["x"].queue; l.size != 0 || l.index != nil {
			t.Errorf("an empty queue of size %d, indexed: %v", l.size, l.index != nil)
		}
	})
}
