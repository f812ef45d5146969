package session

import (
	"errors"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// errUnrenewed is why a grant was given back that nobody renewed.
var errUnrenewed = errors.New("it was not renewed for a TTL")

// sweep gives back, now and then, what has not been renewed for a TTL. The server would keep it for as long as the session
// lives, for the sake of the others that are held in it.
func (s *Store) sweep() {
	defer s.running.Done()
	ticker := time.NewTicker(s.ttl / 8)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.giveBackUnrenewed()
			s.names.refresh()
		case <-s.context.Done():
			return
		}
	}
}

func (s *Store) giveBackUnrenewed() {
	var late []*claim
	s.mu.Lock()
	since := driver.Now().Add(-s.ttl)
	for _, c := range s.claims {
		if c.state != held || c.proved.IsZero() || !c.proved.Before(since) {
			continue
		}
		c.state = left
		late = append(late, c)
	}
	s.mu.Unlock()
	for _, c := range late {
		c.watch.Lost(errUnrenewed) // before anybody else can have it
		s.mu.Lock()
		if c.state == left {
			s.giveBack(c)
		}
		s.mu.Unlock()
	}
}
