package session

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

// serverClock is how far the server's clock was before ours, as far as answers tell: a clock that is set back frees leases late,
// and numbers grants too low where the last one is forgotten.
type serverClock struct {
	ahead time.Duration // at least
	at    driver.Instant
}

// stepSlack is how much less ahead a clock may be without having been set back, beside what clocks drift apart.
const stepSlack = 100 * time.Millisecond

// look takes the server's time in an answer to something that was sent then and has arrived now. It says by how much the clock was
// set back, at least; zero: it was not, as far as this answer shows.
func (c *serverClock) look(at time.Time, sent, now driver.Instant) (back time.Duration) {
	least, most := at.Sub(now.Time()), at.Sub(sent.Time())
	if !c.at.IsZero() {
		if back = c.ahead - most - stepSlack - now.Sub(c.at)/1000; back < 0 { // clocks that are slewed drift by less than 1/1000
			back = 0
		}
	}
	if c.at.IsZero() || back > 0 || least >= c.ahead || now.Sub(c.at) > time.Hour {
		c.ahead, c.at = least, now
	}
	return back
}

// looksAt compares the server's clock with what it was, and reports a step back. The time is in µs.
func (s *Store) looksAt(us int64, sent driver.Instant) {
	now := driver.Now()
	s.mu.Lock()
	back := s.clock.look(time.UnixMicro(us), sent, now)
	s.mu.Unlock()
	if back > 0 && s.opts.Logger != nil {
		s.opts.Logger.Warn("the clock of the Redis server was set back: leases last longer by that, and tokens of names whose last grant it has "+
			"forgotten may repeat", "server", s.opts.Address, "by", back)
	}
}
