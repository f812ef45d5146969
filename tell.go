package tenure

import (
	"log/slog"
	"runtime/debug"
	"sync"
)

// teller calls the program's functions (observers, the logger) for what happens behind the callers' backs, in order, from
// one goroutine that lives while there is something to tell. So a slow function delays no loss, and one that calls back
// into the Locker, from a driver's goroutine say, cannot block it.
type teller struct {
	mu      sync.Mutex
	waiting []func()
	telling bool
}

// tell has f called soon.
func (t *teller) tell(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, f)
	if !t.telling {
		t.telling = true
		go t.run()
	}
}

func (t *teller) run() {
	for {
		t.mu.Lock()
		now := t.waiting
		t.waiting = nil
		if len(now) == 0 {
			t.telling = false
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		for _, f := range now {
			guarded(f)
		}
	}
}

// guarded keeps a panic of the program's function from ending the program, in which nobody could recover from it.
func guarded(f func()) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("tenure: an observer or a logger panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f()
}
