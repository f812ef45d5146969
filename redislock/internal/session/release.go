package session

import (
	"context"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/redislock/internal/script"
)

// clean makes sure that an owner has nothing, and says whether it had a lock.
func (s *Store) clean(ctx context.Context, keys []string, owner string) (bool, error) {
	result, sent := s.exec(ctx, script.Release, keys, []string{owner, flag(s.opts.Grace != 0)})
	had, err := result.AsInt64()
	if err != nil {
		return false, s.fault(sent, err)
	}
	return had == 1, nil
}

// cleanAll does so for all that a request was for.
func (s *Store) cleanAll(ctx context.Context, sets [][]string, owner string) (err error) {
	for _, keys := range sets {
		if _, failed := s.clean(ctx, keys, owner); failed != nil {
			err = failed
		}
	}
	return err
}

// disown cleans up if an owner that is said to hold a lock is an acquisition of this session that is over: a failover has lost
// its release, and nobody else could know.
func (s *Store) disown(keys []string, owner string) {
	session, acq, ours := parse(owner)
	if !ours || session != s.info.Session {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.claims[acq] != nil {
		return
	}
	s.spawn(func() {
		ctx, cancel := context.WithTimeout(s.context, longestInterval)
		defer cancel()
		_, _ = s.clean(ctx, keys, owner) // if it fails, the next answer says so again
	})
}

// Release gives a grant back, and passes the name on.
func (s *Store) Release(ctx context.Context, ref driver.Ref) error {
	s.mu.Lock()
	c := s.claims[ref.Acq]
	if s.closed {
		s.mu.Unlock()
		return s.closedFault()
	}
	if c == nil || c.state != held {
		s.mu.Unlock()
		return driver.ErrNotOurs
	}
	s.mu.Unlock()
	s.forget(c)
	had, err := s.clean(ctx, c.keys, c.owner)
	switch {
	case err != nil:
		return err
	case !had:
		return driver.ErrNotOurs
	}
	return nil
}

// Abandon makes sure that acquisitions have nothing.
func (s *Store) Abandon(ctx context.Context, batch []driver.Removal) {
	done := make(chan struct{})
	for i := range batch {
		go func() {
			batch[i].Err = s.abandon(ctx, &batch[i])
			done <- struct{}{}
		}()
	}
	for range batch {
		<-done
	}
}

func (s *Store) abandon(ctx context.Context, r *driver.Removal) error {
	s.mu.Lock()
	closed := s.closed
	c := s.claims[r.Acq]
	s.mu.Unlock()
	if closed {
		return s.closedFault()
	}
	if c != nil {
		s.mu.Lock()
		c.deliver(driver.Grant{}, unknown(0, context.Canceled))
		s.mu.Unlock()
		s.forget(c)
		return s.cleanAll(ctx, c.sets, c.owner)
	}
	// The grace in its owner id is not known any more: it depends on the terms, and those that are in use are few.
	sets := s.setsOf(r.Key, r.Slots)
	var errs error
	for _, grace := range s.graces() {
		if err := s.cleanAll(ctx, sets, s.owner(r.Acq, grace)); err != nil {
			errs = err
		}
	}
	return errs
}

// graces are all that this session has put into owner ids.
func (s *Store) graces() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	graces := make([]time.Duration, 0, len(s.used))
	for grace := range s.used {
		graces = append(graces, grace)
	}
	return graces
}
