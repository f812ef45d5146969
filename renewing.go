package tenure

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// start has what is pending renewed, by as many workers as there may be. R.mu is held.
func (r *renewer) start() {
	batches := 0
	for _, holds := range r.pending {
		batches += (len(holds) + renewBatch - 1) / renewBatch
	}
	for ; batches > 0 && r.workers < renewers && r.workers+r.slow < mostRenewers; batches-- {
		r.workers++
		go r.work()
	}
}

// take gives the next batch; nil if nothing is pending. R.mu is held.
func (r *renewer) take() []*hold {
	for kind, holds := range r.pending {
		if n := min(len(holds), renewBatch); n < len(holds) {
			r.pending[kind] = holds[n:]
			return holds[:n:n]
		}
		delete(r.pending, kind)
		return holds
	}
	return nil
}

// work renews what is pending, and ends when nothing is, or when it was slow and another has taken its place.
func (r *renewer) work() {
	batch := make([]driver.Renewal, 0, 8)
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		due := r.take()
		if due == nil {
			r.workers--
			r.rest()
			return
		}
		r.mu.Unlock()
		due = slices.DeleteFunc(due, (*hold).unwanted) // since it was due, it may have been released
		if len(due) > 0 {
			ttl, slow := due[0].req.Terms.TTL, make(chan struct{})
			long := time.AfterFunc(max(ttl/60, coalesce), func() {
				defer close(slow)
				r.mu.Lock()
				defer r.mu.Unlock()
				r.workers--
				r.slow++
				r.start()
			})
			batch = r.renew(due, batch[:0], ttl/4)
			if !long.Stop() {
				<-slow
				r.mu.Lock()
				r.slow--
				r.rest()
				r.start()
				return
			}
		}
		r.mu.Lock()
	}
}

// rest tells who waits for it that nothing is under way. R.mu is held.
func (r *renewer) rest() {
	if r.resting != nil && !r.busy() {
		close(r.resting)
		r.resting = nil
	}
}

func (r *renewer) busy() bool { return r.ticking || r.workers+r.slow > 0 }

func (r *renewer) renew(holds []*hold, batch []driver.Renewal, limit time.Duration) []driver.Renewal {
	for _, h := range holds {
		batch = append(batch, driver.Renewal{Ref: h.req.Ref, Terms: h.req.Terms, Err: errUnanswered})
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	r.s.renew(ctx, batch)
	cancel()
	now := driver.Now()
	for i, h := range holds {
		h.renewed(now, batch[i])
	}
	return batch
}

// renewed takes the answer to a renewal.
func (h *hold) renewed(now driver.Instant, answer driver.Renewal) {
	if answer.Err == nil && (answer.Proof.Valid <= 0 || answer.Proof.Sent.IsZero()) {
		answer.Err = errUnanswered
	}
	h.mu.Lock()
	h.renewal.sent = false
	if h.state != held {
		h.mu.Unlock()
		return
	}
	lease, first := h.lease, h.renewal.failed == nil
	lost, gone := false, errors.Is(answer.Err, driver.ErrNotOurs)
	switch {
	case gone:
	case answer.Err == nil:
		h.renewal.failed = nil
		lost = !h.trust.Renewed(now, h.believe(now, answer.Proof))
	default:
		h.renewal.failed = answer.Err
		h.trust.Failed(now, rand.Float64())
		lost = !h.trust.Holds(now)
	}
	if !lost && !gone {
		h.s.renewer.move(h, h.next())
	}
	h.mu.Unlock()
	switch {
	case gone:
		h.Lost(answer.Err)
	case lost:
		h.cut(lease, errDeadline)
	}
	lease.noteRenewal(answer.Err, first)
}

// noteRenewal tells the observer; and the operator of the first failure in a row.
func (l *Lease) noteRenewal(err error, first bool) {
	opts := &l.locker.opts
	warn := err != nil && first && !errors.Is(err, driver.ErrNotOurs)
	if opts.Observer.Renew == nil && !warn {
		return
	}
	l.hold.s.teller.tell(func() {
		if warn {
			opts.Logger.Warn("tenure: renewal failed, trying again until the deadline", "name", l.Name(), "error", err)
		}
		if opts.Observer.Renew != nil {
			opts.Observer.Renew(l, err)
		}
	})
}

// quiet waits until no renewal is under way, unless there are holds to be renewed.
func (r *renewer) quiet(ctx context.Context) error {
	r.mu.Lock()
	if !r.busy() || len(r.holds) > 0 {
		r.mu.Unlock()
		return nil
	}
	if r.resting == nil {
		r.resting = make(chan struct{})
	}
	resting := r.resting
	r.mu.Unlock()
	select {
	case <-resting:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
