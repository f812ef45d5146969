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

// soon gives a channel that is closed within 5 ms.
func (t *ticks) soon() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tick == nil {
		tick := make(chan struct{})
		t.tick = tick
		time.AfterFunc(quantum, func() {
			t.mu.Lock()
			t.tick = nil
			t.mu.Unlock()
			close(tick)
		})
	}
	return t.tick
}
