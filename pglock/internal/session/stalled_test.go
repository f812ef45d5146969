package session

import (
	"testing"
	"time"
)

// brief is the TTL of those whose locks are to be freed.
const brief = 2 * time.Second

// freed is how long after its last word a stalled session's locks may stay taken.
const freed = brief + time.Second

func (c *caller) gotBy(by time.Time, what string) {
	c.t.Helper()
	if c.got(prompt + time.Until(by)); c.at.After(by) {
		c.t.Errorf("%s: %q was passed on %v too late", what, c.req.Name, c.at.Sub(by))
	}
}

// TestStoppedHolderIsFreed: a process that stands does not renew, and knows that it lost when it wakes.
func TestStoppedHolderIsFreed(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	waiter, holder := start(t, url, long), spawn(t, url, brief)
	holder.holds("x")
	w := waiter.caller(t, "x").waits(t.Context())
	holder.stop()
	w.gotBy(time.Now().Add(freed), "a holder that stands")
	holder.resume()
	holder.tell("check")
	holder.says("lost")
	w.keeps()
	w.releases()
}

// TestKilledHolderIsFreed at once: the system closes its sockets. What the machine has else to do may hold up some, not all.
func TestKilledHolderIsFreed(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	waiter := start(t, url, long)
	var late time.Duration
	for range 5 {
		holder := spawn(t, url, 5*time.Minute)
		holder.holds("x")
		w := waiter.caller(t, "x").waits(t.Context())
		holder.kill()
		killed := time.Now()
		w.got(prompt)
		w.releases()
		if late = w.at.Sub(killed); late <= 200*time.Millisecond {
			return
		}
	}
	t.Errorf("after a holder was killed, its name was passed on after %v", late)
}

// TestKilledWaiter holds up nobody who queues behind it.
func TestKilledWaiter(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	first, last, dies := start(t, url, long), start(t, url, long), spawn(t, url, 5*time.Minute)
	h := first.take(t, "x")
	dies.waits("x")
	w := last.caller(t, "x").waits(t.Context())
	v := look(t, url)
	until(t, prompt, "both queue", func() bool { return v.queue("x") == 2 })
	dies.kill()
	h.releases()
	w.gotBy(time.Now().Add(time.Second), "behind a waiter that was killed")
	w.releases()
	// A waiter that was killed long before leaves the queue by itself.
	h = first.take(t, "y")
	dies = spawn(t, url, 5*time.Minute)
	dies.waits("y")
	dies.kill()
	until(t, prompt, "a waiter that was killed leaves the queue", func() bool { return v.queue("y") == 0 })
	h.releases()
}
