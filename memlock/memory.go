package memlock

import (
	"sync"
	"time"
)

// memory is what the sessions share. One mutex guards all of it: a turn under it takes a fraction of a microsecond, and
// slots need several places at once.
type memory struct {
	mu     sync.Mutex
	places map[string]*place
	// floor is the highest number of all that was forgotten: a new place starts above it, so that a name's numbers rise
	// even where the clock has not moved on since it was forgotten.
	floor int64
	// tickets numbers the waiters, so that queues can be compared.
	tickets uint64
	// longest is the longest period or gap that anybody has asked for: an older run matters to nobody.
	longest time.Duration

	idle    int // places that nobody uses, as far as their turns saw
	sweepAt int // the number of places at which a sweep is due
	peak    int // the most places that the map has had, since maps do not shrink
	claims  spare[claim]
	unused  spare[place]
}

const (
	fewPlaces  = 128  // below this, sweeping for growth is not worth while
	fewIdle    = 64   // places that are kept for the next time, whatever else there is
	manyPlaces = 4096 // from this peak on, a nearly empty map is replaced by a small one
	maxSpare   = 256  // claims, and places, that are kept for use again
)

func newMemory() *memory {
	return &memory{places: make(map[string]*place), sweepAt: fewPlaces}
}

// place finds or makes the place of a key. It sweeps nothing away: that is done when a turn ends and holds no places.
func (m *memory) place(key string) *place {
	p := m.places[key]
	if p == nil {
		p = m.unused.take()
		p.key, p.last, p.idle = key, m.floor, true
		m.idle++
		m.places[key] = p
	}
	return p
}

// tidy forgets what nobody uses, once there is so much of it that the cost of looking is a small part of what it took
// to get there. Names in use are at least about half of those that are kept.
func (t *turn) tidy() {
	m := t.memory
	if len(m.places) < m.sweepAt && (m.idle <= fewIdle || m.idle <= len(m.places)/2) {
		return
	}
	m.peak = max(m.peak, len(m.places))
	for _, p := range m.places {
		if p.holders.head != nil {
			t.serve(p) // a holder may have expired where nobody asked
		}
	}
	for key, p := range m.places {
		if p.run != nil && p.run.past(t.wall(), m.longest) {
			p.run = nil
		}
		if p.idle = false; p.isUnused() {
			delete(m.places, key)
			m.floor = max(m.floor, p.last)
			*p = place{idle: true}
			m.unused.give(p)
		}
	}
	m.idle = 0
	m.sweepAt = max(fewPlaces, 2*len(m.places))
	if m.peak > manyPlaces && len(m.places) < m.peak/8 {
		small := make(map[string]*place, len(m.places))
		for key, p := range m.places {
			small[key] = p
		}
		m.places, m.peak = small, len(small)
	}
}

// spare keeps a few values for use again, so that taking and releasing a name allocates nothing.
type spare[T any] struct{ kept []*T }

func (s *spare[T]) take() *T {
	last := len(s.kept) - 1
	if last < 0 {
		return new(T)
	}
	value := s.kept[last]
	s.kept[last] = nil
	s.kept = s.kept[:last]
	return value
}

// give keeps a value that has been cleared and that nobody points to.
func (s *spare[T]) give(value *T) {
	if len(s.kept) < maxSpare {
		s.kept = append(s.kept, value)
	}
}
