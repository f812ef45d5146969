//go:build linux || darwin

package supervise

import "time"

// step is what is to be done to the process group.
type step int

const (
	nothing step = iota
	term
	kill
)

// schedule decides when the group gets TERM and when KILL. It reads no clock.
//
// KILL comes at the deadline at the latest. TERM comes that much before it as the command has for ending by itself. Each
// renewal moves the deadline on, so that TERM is reached only when renewals have failed for long enough.
type schedule struct {
	grace    time.Duration // from TERM to KILL
	deadline time.Time     // the group must be dead
	worn     time.Time     // when --max-hold is up; zero: never
	termed   time.Time     // when TERM was sent; zero: not yet
	killed   bool
}

// extend moves the deadline on. It never moves back.
func (s *schedule) extend(deadline time.Time) {
	if deadline.After(s.deadline) {
		s.deadline = deadline
	}
}

// due says what is to be done at now, and why; Finished where that was said with TERM.
func (s *schedule) due(now time.Time) (step, Reason) {
	switch {
	case s.killed:
		return nothing, Finished
	case !now.Before(s.deadline):
		return kill, RanOut
	case !s.termed.IsZero():
		if now.Before(s.killAt()) {
			return nothing, Finished
		}
		return kill, Finished
	case !s.worn.IsZero() && !now.Before(s.worn):
		return term, HeldTooLong
	case !now.Before(s.deadline.Add(-s.grace)):
		return term, RanOut
	}
	return nothing, Finished
}

// next is when something will be due, if nothing happens before; zero: never.
func (s *schedule) next() time.Time {
	switch {
	case s.killed:
		return time.Time{}
	case !s.termed.IsZero():
		return s.killAt()
	}
	at := s.deadline.Add(-s.grace)
	if !s.worn.IsZero() && s.worn.Before(at) {
		at = s.worn
	}
	return at
}

func (s *schedule) killAt() time.Time {
	if after := s.termed.Add(s.grace); !s.termed.IsZero() && after.Before(s.deadline) {
		return after
	}
	return s.deadline
}
