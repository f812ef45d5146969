package queue

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenurelock/tenure/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func woken(w *Waiter[int]) bool {
	select {
	case <-w.Woken():
		return true
	default:
		return false
	}
}

func TestFirstInFirstOutAndNoBarging(t *testing.T) {
	table := New[int, int]()
	if !table.Try("x", false) {
		t.Fatal("a free gate is closed")
	}
	first, second := NewWaiter(1), NewWaiter(2)
	for _, w := range []*Waiter[int]{first, second} {
		if entered, _ := table.Enter("x", w == second, w); entered {
			t.Fatal("two inside an exclusive gate")
		}
	}
	table.Exit("x", false, 0)
	if !woken(first) || woken(second) {
		t.Fatal("not first in, first out")
	}
	if table.Try("x", true) {
		t.Error("a shared caller went in beside an exclusive one")
	}
	table.Exit("x", false, 0)
	if !woken(second) {
		t.Fatal("the second was not let in")
	}
	third := NewWaiter(3)
	if entered, _ := table.Enter("x", false, third); entered {
		t.Error("an exclusive caller went in beside a shared one")
	}
	if table.Try("x", true) {
		t.Error("a shared caller passed a waiting exclusive one")
	}
	table.Exit("x", true, 0)
	if !woken(third) {
		t.Error("the exclusive caller was not let in after the last shared one")
	}
	table.Exit("x", false, 0)
	if !table.Try("x", false) {
		t.Error("an empty gate is closed")
	}
}

func TestLeaveLetsInWhoWasHeldBack(t *testing.T) {
	table := New[int, int]()
	table.Try("x", true)
	writer, reader := NewWaiter(1), NewWaiter(2)
	table.Enter("x", false, writer)
	table.Enter("x", true, reader)
	if !table.Leave("x", writer) {
		t.Fatal("a waiting caller could not leave")
	}
	if !woken(reader) {
		t.Error("the reader is held back by a writer that left")
	}
	if table.Leave("x", reader) {
		t.Error("a caller that is inside left the queue")
	}
}

func TestHandKeepsTheGateClosed(t *testing.T) {
	table := New[int, int]()
	table.Try("x", false)
	first, second := NewWaiter(1), NewWaiter(2)
	table.Enter("x", false, first)
	table.Enter("x", false, second)
	if table.Hand("x", func(int) bool { return false }) || woken(first) {
		t.Error("handed to a caller that was not accepted")
	}
	if !table.Hand("x", func(v int) bool { return v == 1 }) || !woken(first) || woken(second) {
		t.Error("not handed to the head")
	}
	if table.Try("x", false) {
		t.Error("the gate was open after a hand-off")
	}
	table.Exit("x", false, 0)
	if !woken(second) {
		t.Error("the second was not let in")
	}
}

func TestEvict(t *testing.T) {
	table := New[int, int]()
	table.Try("x", true)
	writer, reader := NewWaiter(1), NewWaiter(2)
	table.Enter("x", false, writer)
	table.Enter("x", true, reader)
	table.Evict(func(v int) bool { return v == 1 })
	if !woken(writer) || !writer.Evicted() {
		t.Error("the writer was not put out")
	}
	if !woken(reader) || reader.Evicted() {
		t.Error("the reader was not let in when the writer was put out")
	}
}

// TestRandomCallers has many callers come, wait, give up, hand over and leave, and watches who is inside.
func TestRandomCallers(t *testing.T) {
	table := New[*atomic.Bool, int]()
	var readers, writers [4]atomic.Int32
	keys := []string{"a", "b", "c", "d"}
	var callers sync.WaitGroup
	for seed := range uint64(16) {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			handed := new(atomic.Bool)
			w := NewWaiter(handed)
			for range 3000 {
				k, shared := random.IntN(len(keys)), random.IntN(3) == 0
				handed.Store(false)
				if entered, _ := table.Enter(keys[k], shared, w); !entered {
					if random.IntN(4) == 0 && table.Leave(keys[k], w) {
						continue
					}
					<-w.Woken()
				}
				if shared {
					readers[k].Add(1)
					if writers[k].Load() > 0 {
						t.Error("a reader beside a writer")
					}
					readers[k].Add(-1)
				} else {
					if writers[k].Add(1) > 1 || readers[k].Load() > 0 {
						t.Error("a writer is not alone")
					}
					writers[k].Add(-1)
					if random.IntN(2) == 0 && table.Hand(keys[k], func(next *atomic.Bool) bool { next.Store(true); return true }) {
						continue
					}
				}
				table.Exit(keys[k], shared, 0)
			}
		})
	}
	callers.Wait()
	for _, key := range keys {
		if !table.Try(key, false) || table.Waiting(key) {
			t.Errorf("%q is not free at the end", key)
		}
	}
	for i := range table.shards {
		if s := &table.shards[i]; len(s.gates) > len(keys) {
			t.Errorf("%d gates are left over", len(s.gates))
		}
	}
}

func BenchmarkEnterExit(b *testing.B) {
	table := New[int, int]()
	w := NewWaiter(0)
	b.ReportAllocs()
	for b.Loop() {
		table.Enter("x", false, w)
		table.Exit("x", false, 0)
	}
}
