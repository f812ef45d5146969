package session

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// room bounds how many names are waited for in the server at once: each wait takes a connection, and holds back VACUUM. Names
// beyond it are tried, with pauses. A try never passes those who queue, so a name tried in vain for long gets the next place.
type room struct {
	s *Store

	mu    sync.Mutex
	waits int
	tried map[lock]*trial
}

// trial is a name that is tried for want of room.
type trial struct{ first, last, judged driver.Instant }

const (
	// tryFor is how long a name is tried before it gets a place out of turn.
	tryFor = time.Second
	// minTry and maxTry bound the pauses between tries.
	minTry = 20 * time.Millisecond
	maxTry = 200 * time.Millisecond
)

// pause is how long to wait before the next try.
func (r *room) pause() time.Duration { return minTry + rand.N(maxTry-minTry) }

// enter asks for a place to wait for a name.
func (r *room) enter(l lock) bool {
	waited := r.s.waited()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := driver.Now()
	free := min(r.s.opts.Waits-r.waits, r.s.opts.Waited-waited)
	if free > r.older(l, now) {
		delete(r.tried, l)
		r.waits++
		return true
	}
	r.note(l, now)
	return false
}

func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits--
}

// wanted says, when a name's longest wait in the server is over, whether it must give its place to another one.
func (r *room) wanted(l lock) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := driver.Now()
	if r.s.opts.Waits-r.waits >= r.older(l, now) {
		return false
	}
	r.note(l, now)
	return true
}

func (r *room) note(l lock, now driver.Instant) {
	if r.tried == nil {
		r.tried = make(map[lock]*trial)
	}
	if t := r.tried[l]; t != nil {
		t.last = now
	} else {
		r.tried[l] = &trial{first: now, last: now}
	}
}

// judges says whether it is time to look at the holder of a name that is tried.
func (r *room) judges(l lock) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, now := r.tried[l], driver.Now()
	if t == nil || now.Sub(t.first) < r.s.ttl || now.Sub(t.judged) < r.s.ttl/4 {
		return false
	}
	t.judged = now
	return true
}

// older counts the names that have been tried for long, and for longer than this one. Those that nobody tries any more are
// forgotten.
func (r *room) older(than lock, now driver.Instant) (n int) {
	own := r.tried[than]
	for l, t := range r.tried {
		switch {
		case now.Sub(t.last) > 10*maxTry:
			delete(r.tried, l)
		case l != than && now.Sub(t.first) > tryFor && (own == nil || t.first.Before(own.first)):
			n++
		}
	}
	return n
}

// waited counts the extra lines that are in use.
func (s *Store) waited() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.extras {
		if l.uses > 0 {
			n++
		}
	}
	return n
}
