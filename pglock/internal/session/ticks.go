package session

import (
	"sync"
	"time"
)

// ticks is a time limit that many callers share: a channel that is closed soon, for whoever wants to wait a moment before
// it goes to the expense of its own timer.
type ticks struct {
	mu   sync.Mutex
	tick chan struct{}
}

// moment is how long that is, with a usual TTL.
const moment = 20 * time.Millisecond

func (s *Store) moment() time.Duration { return min(moment, s.ttl/32) }

// soon gives a channel that is closed within the limit.
func (t *ticks) soon(limit time.Duration) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tick == nil {
		tick := make(chan struct{})
		t.tick = tick
		time.AfterFunc(limit, func() {
			t.mu.Lock()
			t.tick = nil
			t.mu.Unlock()
			close(tick)
		})
	}
	return t.tick
}
