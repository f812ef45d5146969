package rows

import (
	"context"
	"fmt"

	"github.com/tenurelock/tenure/driver"
)

// Close ends the session: its waiters return with ErrClosed, its holders are told, and only then their rows are freed, as
// far as ctx gives time. It returns when no goroutine and no connection of the session is left; where the server hangs and
// ctx ends, pgx goes on for up to 15 seconds to tell it so. After an error, what could not be freed runs out within its TTL.
func (s *Store) Close(ctx context.Context) error {
	left, first := s.claims.close()
	if !first {
		return nil
	}
	stop := context.AfterFunc(ctx, s.end) // whatever hangs ends with ctx
	defer stop()
	s.combine.refuse()
	close(s.closing)
	cause := fmt.Errorf("the session was closed: %w", driver.ErrClosed)
	jobs := make([]*job, 0, len(left))
	for _, c := range left {
		granted, names := s.claims.state(c)
		if granted {
			c.watch.Lost(cause)
		}
		jobs = append(jobs, &job{kind: releasing, acq: c.acq, names: names, last: true})
	}
	failed := s.free(ctx, jobs)
	s.listen.stop()
	s.combine.stop(ctx)
	s.end()
	s.work.Wait()
	return failed
}

// free gives back what is left. It is asked behind whatever is on its way, so that it also finds what that is granted.
func (s *Store) free(ctx context.Context, jobs []*job) error {
	if len(jobs) == 0 {
		return nil
	}
	_ = s.do(ctx, jobs...) // each has its own error
	for _, j := range jobs {
		if j.err != nil {
			return fmt.Errorf("close the session %s: its rows could not be freed and run out within their TTL: %w", s.info.Session, j.err)
		}
	}
	return nil
}

// refuse takes no new jobs but those that Close sends.
func (c *combiner) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
}
