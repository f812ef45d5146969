package quorum

import (
	"errors"

	"github.com/tenurelock/tenure/driver"
)

// release gives the claim back at now, or makes sure that nothing is left of it. From here on nothing is set. The round is
// over when a majority has said that the key was ours until now, or that it was not; the rest is cleaned up behind.
func (s *state) release(now driver.Instant) *round {
	if !s.attempt.over && s.attempt.sent != 0 {
		s.attempt.backoff = s.pause(now)
		s.attempt.end(passing(errGivenUp))
	}
	s.ended = true
	r := &round{sent: now}
	for node := range s.members {
		s.members[node].pause = s.timeout
		s.ask(now, node, opRelease, 0, r)
	}
	return r
}

// sweep removes what a node may have of a claim that has ended.
func (s *state) sweep(now driver.Instant, node int) {
	s.members[node].pause = s.timeout
	s.ask(now, node, opRelease, 0, nil)
}

// sweepLate is called when the outcome of an acquire or a top-up comes after the claim has ended. The clean-up that was sent
// at the end may have run before it, so it is sent again.
func (s *state) sweepLate(now driver.Instant, node int) {
	if m := &s.members[node]; m.ours || m.unsure != 0 {
		s.sweep(now, node)
	}
}

// released takes the outcome of a release or a clean-up, and goes on until nothing can be left: the last clean-up was sent no
// earlier than a TTL after the last request of unknown outcome that could set the key, and was answered. A node that answers
// none is left when the key has expired there, whenever it was set.
func (s *state) released(now driver.Instant, c call, _ Answer, err error) {
	m := &s.members[c.node]
	if c.round != nil {
		c.round.settle(s.majority, driver.Unknown)
	}
	switch {
	case m.sweeps > 0: // another one is on its way, and will see to the rest
	case errors.Is(err, driver.ErrClosed): // nothing is sent any more
	case err != nil:
		if at := now.Add(m.pause); m.touched != 0 && at.Before(m.touched.Add(2*s.ttl)) {
			m.pause = min(2*m.pause, s.ttl/4)
			s.ask(at, c.node, opRelease, 0, nil)
		}
	case m.unsure != 0 && c.at.Before(m.unsure.Add(s.ttl)):
		s.ask(max(now, m.unsure.Add(s.ttl)), c.node, opRelease, 0, nil)
	case m.unsure != 0:
		m.unsure = 0
	}
}
