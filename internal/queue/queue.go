// Package queue keeps the callers of one process apart, key by key, in the order of their coming.
//
// Each key has a gate. One exclusive caller, or any number of shared ones, is inside it: asking the store, holding, or
// giving back. The others wait before it, first in first out; an exclusive one at the head holds back the shared ones
// behind it. Nobody barges: a caller goes straight in only where nobody waits. A caller that is let in has its turn with
// the store; one that is handed to ([Table.Hand]) takes the place of the caller that leaves, and the gate never opens.
//
// A waiting caller costs one [Waiter], which the caller owns, and no goroutine.
package queue

import (
	"hash/maphash"
	"sync"
)

// shards is a power of two; more than the cores that contend.
const shards = 64

// spare is how many unused gates a shard keeps.
const spare = 64

// Table holds the gates of one store: T is what waiters carry, I what those inside are known by. The zero Table is not ready: use [New].
type Table[T any, I comparable] struct {
	seed   maphash.Seed
	shards [shards]shard[T, I]
}

type shard[T any, I comparable] struct {
	mu    sync.Mutex
	gates map[string]*gate[T, I]
	free  []*gate[T, I]
	_     [24]byte // shards lie on cache lines of their own
}

type gate[T any, I comparable] struct {
	exclusive  bool // an exclusive caller is inside
	shared     int  // how many shared ones are
	inside     I    // who came in last, as it said by Occupy
	head, tail *Waiter[T]
}

// Waiter is one caller's place in a queue. It may be used again once it has been let in, handed to, or has left.
type Waiter[T any] struct {
	// Value is the caller's, for those that hand over.
	Value T

	woken      chan struct{}
	shared     bool
	evicted    bool
	queued     bool
	prev, next *Waiter[T]
}

// NewWaiter makes a place for a caller.
func NewWaiter[T any](value T) *Waiter[T] {
	return &Waiter[T]{Value: value, woken: make(chan struct{}, 1)}
}

// Woken delivers once: when the waiter is let in, handed to, or evicted.
func (w *Waiter[T]) Woken() <-chan struct{} { return w.woken }

// Evicted says, after Woken, that the waiter was put out by [Table.Evict] and is not inside.
func (w *Waiter[T]) Evicted() bool { return w.evicted }

// New makes a table without gates.
func New[T any, I comparable]() *Table[T, I] {
	t := &Table[T, I]{seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].gates = make(map[string]*gate[T, I])
	}
	return t
}

func (t *Table[T, I]) shard(key string) *shard[T, I] {
	return &t.shards[maphash.String(t.seed, key)%shards]
}

// Try goes in if nobody is in the way, and says whether it did.
func (t *Table[T, I]) Try(key string, shared bool) bool {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enter(key, shared)
}

// Enter goes in if nobody is in the way, and says so; otherwise it queues w, whose Woken then delivers, and tells who is
// inside, as [Table.Inside] does.
func (t *Table[T, I]) Enter(key string, shared bool, w *Waiter[T]) (entered bool, inside I) {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.enter(key, shared) {
		return true, inside
	}
	w.shared, w.evicted = shared, false
	g := s.gates[key]
	g.push(w)
	return false, g.inside
}

// Leave takes w out of the queue. It says false if w was woken first: the caller is then inside, or has been handed to,
// or was evicted, and must take that from Woken and pass it on.
func (t *Table[T, I]) Leave(key string, w *Waiter[T]) bool {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.queued {
		return false
	}
	g := s.gates[key]
	g.remove(w)
	s.settle(key, g) // it may have held back shared callers
	return true
}

// Exit is called by a caller that was inside, as by if it had said so; it lets in whoever comes next.
func (t *Table[T, I]) Exit(key string, shared bool, by I) {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gates[key]
	if g.inside == by {
		var nobody I
		g.inside = nobody
	}
	if shared {
		g.shared--
	} else {
		g.exclusive = false
	}
	s.settle(key, g)
}

// Hand gives the place of the exclusive caller that is inside to the head of the queue, if that is exclusive too and
// take accepts it, and says so. Take runs while the table is locked, before the waiter is woken.
func (t *Table[T, I]) Hand(key string, take func(T) bool) bool {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gates[key]
	w := g.head
	if w == nil || w.shared || !take(w.Value) {
		return false
	}
	g.remove(w)
	w.woken <- struct{}{}
	return true
}

// Occupy says who is inside, for those who are turned away. Only a caller that is inside calls it.
func (t *Table[T, I]) Occupy(key string, by I) {
	s := t.shard(key)
	s.mu.Lock()
	s.gates[key].inside = by
	s.mu.Unlock()
}

// Inside tells who said last that it is inside; the zero I if nobody did.
func (t *Table[T, I]) Inside(key string) I {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.gates[key]; g != nil {
		return g.inside
	}
	var nobody I
	return nobody
}

// Waiting says whether anybody waits before the gate.
func (t *Table[T, I]) Waiting(key string) bool {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gates[key]
	return g != nil && g.head != nil
}

// Evict puts out every waiter that matches, of all keys.
func (t *Table[T, I]) Evict(match func(T) bool) {
	for i := range t.shards {
		t.shards[i].evict(match)
	}
}

func (s *shard[T, I]) evict(match func(T) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, g := range s.gates {
		for w := g.head; w != nil; {
			next := w.next
			if match(w.Value) {
				g.remove(w)
				w.evicted = true
				w.woken <- struct{}{}
			}
			w = next
		}
		s.settle(key, g)
	}
}

func (s *shard[T, I]) enter(key string, shared bool) bool {
	g := s.gates[key]
	switch {
	case g == nil:
		g = s.open(key)
	case g.head != nil, g.exclusive, !shared && g.shared > 0:
		return false
	}
	g.admit(shared)
	return true
}

func (s *shard[T, I]) open(key string) *gate[T, I] {
	var g *gate[T, I]
	if last := len(s.free) - 1; last >= 0 {
		g, s.free = s.free[last], s.free[:last]
	} else {
		g = new(gate[T, I])
	}
	s.gates[key] = g
	return g
}

// settle lets in whoever may come in now, and takes an empty gate away.
func (s *shard[T, I]) settle(key string, g *gate[T, I]) {
	for w := g.head; w != nil && !g.exclusive && (w.shared || g.shared == 0); w = g.head {
		g.remove(w)
		g.admit(w.shared)
		w.woken <- struct{}{}
	}
	if g.head == nil && !g.exclusive && g.shared == 0 {
		delete(s.gates, key)
		var nobody I
		g.inside = nobody
		if len(s.free) < spare {
			s.free = append(s.free, g)
		}
	}
}

func (g *gate[T, I]) admit(shared bool) {
	if shared {
		g.shared++
	} else {
		g.exclusive = true
	}
}

func (g *gate[T, I]) push(w *Waiter[T]) {
	w.queued, w.prev, w.next = true, g.tail, nil
	if g.tail == nil {
		g.head = w
	} else {
		g.tail.next = w
	}
	g.tail = w
}

func (g *gate[T, I]) remove(w *Waiter[T]) {
	if w.prev == nil {
		g.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		g.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued, w.prev, w.next = false, nil, nil
}
