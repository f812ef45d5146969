package filelock

import (
	"context"
	"fmt"

	"github.com/tenurelock/tenure/driver"
)

// Release gives a grant back. Whatever it answers, this session has nothing under the number any more.
func (s *Store) Release(_ context.Context, ref driver.Ref) error {
	h, err := s.holding(ref.Acq)
	if err != nil {
		return err
	}
	if h == nil || !s.take(h) {
		return driver.ErrNotOurs
	}
	return h.release()
}

// Abandon makes sure that owners have nothing. A request that still waits is ended first.
func (s *Store) Abandon(ctx context.Context, batch []driver.Removal) {
	for i := range batch {
		batch[i].Err = s.abandon(ctx, batch[i].Ref)
	}
}

func (s *Store) abandon(ctx context.Context, ref driver.Ref) error {
	s.mu.Lock()
	asking := s.asks[ref.Acq]
	s.mu.Unlock()
	if asking != nil {
		asking.cancel(errAbandoned)
		select {
		case <-asking.done:
		case <-ctx.Done():
			return ended(ctx, "abandoning", ref.Name)
		}
	}
	h, err := s.holding(ref.Acq)
	if err == nil && h != nil && s.take(h) {
		_ = h.release() // free after every answer
	}
	return err
}

// release ends the grant: it clears the record if that is still ours, unlocks, and closes. It is free after any answer.
// driver.ErrNotOurs: it was not ours any more, and the record of whoever came after is as it was (H16).
func (h *hold) release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return driver.ErrNotOurs
	}
	defer func() {
		h.file.drop()
		h.file = nil
	}()
	current, err := h.file.current()
	switch {
	case err != nil:
		return unknown(err)
	case !current:
		return h.notOurs(replaced)
	case h.ref.Mode == driver.Shared:
		return h.leave()
	}
	// Not by prove: here it does no harm to take back a lock that was freed, if nobody had it in between.
	taken, err := h.file.retake(driver.Exclusive)
	switch {
	case err != nil:
		return unknown(failed("lock", h.file.path, err))
	case !taken:
		return h.notOurs(passedOn)
	}
	rec, old, err := h.file.read(1)
	switch {
	case err != nil:
		return unknown(err)
	case !h.last(rec):
		return h.notOurs(passedOn)
	}
	rec.state = free
	_ = h.file.write(rec, old) // a record that says "held" is not believed without a lock
	return nil
}

// unknown says that it was not to be found out whether the grant was ours until now.
func unknown(err error) error {
	return asFault(driver.Unknown, fmt.Errorf("given up, but not known to have been ours: %w", err))
}
