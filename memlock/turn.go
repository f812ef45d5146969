package memlock

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

// turn is one stretch of work on the memory: under its mutex, at one moment of its clock. Watchers hear of what it did
// to them when it has ended and the mutex is free.
type turn struct {
	memory *memory
	// sent is when the turn was asked for, read before the mutex, as before a request's first byte.
	sent driver.Instant
	// now is the memory's moment.
	now  driver.Instant
	ns   int64 // the wall clock, once somebody has looked
	lost []loss
}

type loss struct {
	watch driver.Watcher
	cause error
}

// begin waits for the mutex. Its end must be called.
func (m *memory) begin() turn {
	t := turn{memory: m, sent: driver.Now()}
	t.now = t.sent
	// Looking again costs as much as the rest of a turn, so that is for those who had to wait. If this goroutine stands
	// still right here, its turn counts as of when it was sent: a little too early is safe for what it is granted too.
	if !m.mu.TryLock() {
		m.mu.Lock()
		t.now = driver.Now()
	}
	return t
}

// end tidies up, frees the mutex and then tells those who lost.
func (t *turn) end() {
	t.tidy()
	t.memory.mu.Unlock()
	for _, l := range t.lost {
		l.watch.Lost(l.cause)
	}
}

// wall is the memory's calendar clock in nanoseconds since 1970, the same for a whole turn.
func (t *turn) wall() int64 {
	if t.ns == 0 {
		t.ns = time.Now().UnixNano()
	}
	return t.ns
}

// report has a holder told, after the turn, that its grant is gone.
func (t *turn) report(c *claim, cause error) {
	t.lost = append(t.lost, loss{c.watch, cause})
}
