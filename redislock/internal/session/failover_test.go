package session

import (
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// TestLostRelease: a failover brings a lock back that was released. Its session gives it back again when it next asks, and not one
// that is held.
func TestLostRelease(t *testing.T) {
	t.Parallel()
	s, other := start(t), start(t)
	c := s.take(t, "revived")
	owner, state := redis(t, "GET", "revived"), redis(t, "GET", "{revived}:tenure1:state")
	c.releases()
	redis(t, "SET", "revived", owner, "PX", "60000")
	redis(t, "SET", "{revived}:tenure1:state", state, "PX", "60000")
	other.refused(t, "revived") // it cannot know
	began := driver.Now()
	w := s.waitFor(t, "revived").granted(prompt)
	if w.grant.Number <= c.grant.Number || w.at.Sub(began) > slack+time.Second {
		t.Errorf("number %d after %d, %v later", w.grant.Number, c.grant.Number, w.at.Sub(began))
	}
	s.refused(t, "revived")
	if _, err := w.renew(); err != nil {
		t.Errorf("a lease that is held: %v", err)
	}
	w.releases()
}
