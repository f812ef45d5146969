package session

import (
	"context"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/redislock/internal/script"
)

// proofDue says when the session must prove itself, with mu held: every third of the shortest grace that anything rests on.
// Whatever else proved it meanwhile counts.
func (s *Store) proofDue() (at driver.Instant, any bool) {
	for _, k := range s.chains {
		if k.sent.IsZero() {
			continue
		}
		if due := max(s.proved, k.sent).Add(k.grace / 3); !any || due < at {
			at, any = due, true
		}
	}
	return at, any
}

// proveOnce sends a bare proof. One that fails is sent again soon: it proves nothing, and breaks nothing either.
func (s *Store) proveOnce() {
	ctx, cancel := context.WithTimeout(s.context, s.proofPatience())
	defer cancel()
	proved := s.prove(ctx)
	if !proved {
		_ = s.sleep(s.context, unseenPause)
	}
	s.mu.Lock()
	s.proving = false
	s.mu.Unlock()
	s.nudge()
}

func (s *Store) proofPatience() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	patience := longestInterval
	for _, k := range s.chains {
		patience = min(patience, k.grace/2)
	}
	return patience
}

// prove proves the session, if its subscription is seen.
func (s *Store) prove(ctx context.Context) bool {
	result, sent := s.exec(ctx, script.Prove, nil, []string{s.info.Session})
	parts, err := result.ToArray()
	if err != nil || len(parts) < 1 {
		return false
	}
	s.looked(text(parts[0]), sent)
	return text(parts[0]) == "1"
}
