package session

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenurelock/tenure/driver"
)

// push is a message on the session's channel: a lock was handed on.
type push struct {
	acq    uint64
	number string
	kind   string // "yours", or "ask"
	at     string // the server's clock
	lock   string // the key
}

// parsePush reads "acq|number|kind|at|lock".
func parsePush(message string) (p push, ok bool) {
	parts := strings.SplitN(message, "|", 5)
	if len(parts) != 5 {
		return p, false
	}
	acq, err := strconv.ParseUint(parts[0], 10, 64)
	return push{acq: acq, number: parts[1], kind: parts[2], at: parts[3], lock: parts[4]}, err == nil
}

// The pauses before the subscription is tried again.
const (
	minRetry = 20 * time.Millisecond
	maxRetry = time.Second
)

// subscribe keeps the session's subscription: one channel, on a connection of its own, for all its names.
func (s *Store) subscribe() {
	defer s.running.Done()
	for pause := minRetry; s.context.Err() == nil; pause = min(2*pause, maxRetry) {
		if s.listen() {
			pause = minRetry
		}
		s.silent()
		if s.sleep(s.context, pause) != nil {
			return
		}
	}
}

// listen subscribes, and returns when the subscription is over. True: it stood.
func (s *Store) listen() (stood bool) {
	conn, release := s.client.Dedicate()
	defer release()
	over := conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) {
			if p, ok := parsePush(m.Message); ok {
				s.pushed(p)
			}
		},
	})
	ctx, cancel := context.WithTimeout(s.context, longestInterval)
	err := conn.Do(ctx, conn.B().Subscribe().Channel("tenure:"+s.info.Session).Build()).Error()
	cancel()
	if err != nil {
		conn.Close()
		return false
	}
	standing, hangUp := context.WithCancel(s.context)
	defer hangUp()
	stop := context.AfterFunc(standing, conn.Close)
	defer stop()
	s.hears(hangUp)
	if why := <-over; s.opts.Logger != nil {
		s.opts.Logger.Debug("the subscription to a session's channel is over", "server", s.opts.Address, "why", why)
	}
	return true
}

// hears notes that the subscription stands. Pushes may have been missed, so all who wait ask at once.
func (s *Store) hears(hangUp context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heardAt, s.hangUp = driver.Now(), hangUp
	if !s.heard {
		s.heard = true
		close(s.ready)
	}
	for _, c := range s.claims {
		if c.state == waiting {
			s.askNow(c)
		}
	}
}

// silent notes that the subscription is over.
func (s *Store) silent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangUp = nil
	if s.heard {
		s.heard, s.ready = false, make(chan struct{})
	}
}

// unseen takes an answer that did not see the subscription, to a question that was sent then. One that stands is at another
// server: after a failover the old primary may live on, with the connection to it, so another is made. In a Cluster nothing is
// wrong with that; and where none was ever seen, as behind some proxies, another would not be either.
func (s *Store) unseen(sent driver.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := s.proved < s.heardAt && sent.Sub(s.heardAt) < maxRetry // it gets some time to be seen
	if s.opts.Cluster || s.hangUp == nil || sent < s.heardAt || s.proved == 0 || fresh {
		return
	}
	s.hangUp()
	s.hangUp = nil
}
