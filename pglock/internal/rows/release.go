package rows

import (
	"context"

	"github.com/tenurelock/tenure/driver"
)

// Renew pushes out the end of grants, all that come together in one statement. Where the answer is missing, nothing is
// proved and nothing lost.
func (s *Store) Renew(ctx context.Context, batch []driver.Renewal) {
	if len(batch) == 0 {
		return
	}
	jobs := make([]*job, len(batch))
	for i := range batch {
		r := &batch[i]
		if r.Terms.TTL <= 0 {
			r.Terms.TTL = s.info.TTL
		}
		jobs[i] = &job{kind: renewing, acq: r.Acq, names: []string{r.Key}, ttl: micros(r.Terms.TTL)}
	}
	_ = s.do(ctx, jobs...) // each has its own error
	for i, j := range jobs {
		r := &batch[i]
		switch {
		case j.err != nil:
			r.Err = j.err
		case !j.ours:
			r.Err = driver.ErrNotOurs
		default:
			r.Err, r.Proof = nil, driver.Proof{Sent: j.sent, Valid: r.Terms.TTL}
		}
	}
}

// Release frees a row, and wakes the first of its waiters in the same statement. After nil it was this owner's until then;
// after ErrNotOurs this owner has nothing; after another error it is not known which.
func (s *Store) Release(ctx context.Context, ref driver.Ref) error {
	j := &job{kind: releasing, acq: ref.Acq, names: []string{ref.Key}}
	if err := s.do(ctx, j); err != nil {
		return err
	}
	s.claims.remove(ref.Acq)
	if !j.good {
		return driver.ErrNotOurs
	}
	return nil
}

// Abandon takes owners out of the table of waiters and frees what they hold. An Acquire that still waits under such a number
// returns, and a question of it that was not sent yet never will be. After nil, the database had nothing of the owner when
// it answered; what was on another connection by then may come later.
func (s *Store) Abandon(ctx context.Context, batch []driver.Removal) {
	if len(batch) == 0 {
		return
	}
	jobs := make([]*job, len(batch))
	for i := range batch {
		r := &batch[i]
		if c := s.claims.find(r.Acq); c != nil {
			c.abandon()
		}
		jobs[i] = &job{kind: releasing, acq: r.Acq, names: []string{r.Key}}
		if len(r.Slots) > 0 {
			jobs[i].names = jobs[i].names[:0]
			for _, slot := range r.Slots {
				jobs[i].names = append(jobs[i].names, slot.Key)
			}
		}
	}
	_ = s.do(ctx, jobs...) // each has its own error
	for i, j := range jobs {
		if batch[i].Err = j.err; j.err == nil {
			s.claims.remove(j.acq)
		}
	}
}
