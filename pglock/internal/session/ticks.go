package session

import (
	"sync"
	"time"
)

// ticks is a time limit that many callers share: a channel that is closed soon, for whoever wants to wait a moment before
// it goes to the expense of its own timer.
type ticks struct {
	mu   sync.Mutex
	next chan struct{} // closed at the next tick
	last chan struct{} // closed at the one after that
}

// moment is how long that is, with a usual TTL.
const moment = 20 * time.Millisecond

func (s *Store) moment() time.Duration { return min(moment, s.ttl/32) }

// soon gives a channel that is closed after the limit, and before twice that, if all ask with the same one.
func (t *ticks) soon(limit time.Duration) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = make(chan struct{})
		if t.next == nil {
			t.next = make(chan struct{})
			time.AfterFunc(limit, func() { t.tick(limit) })
		}
	}
	return t.last
}

func (t *ticks) tick(limit time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.next)
	t.next, t.last = t.last, nil
	if t.next != nil {
		time.AfterFunc(limit, func() { t.tick(limit) })
	}
}
