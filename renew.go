package tenure

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/clock"
)

const (
	// renewers is how many batches of renewals are under way at once, however many leases there are; those that take
	// unusually long do not count, since the node that they wait for is not everybody's, up to mostRenewers.
	renewers     = 4
	mostRenewers = 64
	// renewBatch is how many leases are renewed in one call of the driver.
	renewBatch = 512
	// coalesce is how much too early the renewer may look at a hold, so that renewals that are due soon share a batch.
	coalesce = 5 * time.Millisecond
)

// renewer looks at every hold when it is due: it sends renewals, and ends what ran out. Deadlines are watched apart from
// the sending, so that a renewal that hangs, or a driver that panics, ends as a loss and never as silence.
//
// It has no goroutine of its own while nothing is due: timers start it.
type renewer struct {
	s *session

	mu      sync.Mutex
	holds   holdHeap
	armed   driver.Instant // when the timer goes off; zero: it is not set
	timer   *time.Timer
	ticking bool // tick runs; it looks at what comes meanwhile, too
	looking bool // the watch for suspends is on

	pending map[batchKind][]*hold // due to be renewed
	workers int                   // that are at work, and not slow
	slow    int
	resting chan struct{} // made by quiet; closed when nothing is under way
}

// batchKind keeps apart what must not share a call: a short TTL, whose bound is short, and renewals that failed, whose node
// may hang.
type batchKind struct {
	ttl     time.Duration
	failing bool
}

// add takes up a hold, to be looked at then.
func (r *renewer) add(h *hold, at driver.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.at = at
	heap.Push(&r.holds, h)
	r.arm()
	if !r.looking {
		r.looking = true
		time.AfterFunc(clock.Interval, r.look)
	}
}

// move changes when a hold is looked at, if it is still there.
func (r *renewer) move(h *hold, at driver.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.index >= 0 && h.at != at {
		h.at = at
		heap.Fix(&r.holds, h.index)
		r.arm()
	}
}

// remove forgets a hold.
func (r *renewer) remove(h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.index >= 0 {
		heap.Remove(&r.holds, h.index)
	}
}

// arm sets the timer for the earliest hold. It never puts it off: when it goes off too early, it is set anew.
func (r *renewer) arm() {
	if len(r.holds) == 0 || r.ticking {
		return
	}
	at := r.holds[0].at
	if !r.armed.IsZero() && !at.Before(r.armed) {
		return
	}
	r.armed = at
	pause := max(0, at.Sub(driver.Now()))
	if r.timer == nil {
		r.timer = time.AfterFunc(pause, r.tick)
	} else {
		r.timer.Reset(pause)
	}
}

// look notices a suspend, during which timers stood still.
func (r *renewer) look() {
	clock.Look()
	r.mu.Lock()
	if len(r.holds) == 0 {
		r.looking = false
		r.mu.Unlock()
		return
	}
	late := r.holds[0].at.Before(driver.Now())
	time.AfterFunc(clock.Interval, r.look)
	r.mu.Unlock()
	if late {
		r.tick()
	}
}

// tick looks at all holds that are due. Only one runs at a time.
func (r *renewer) tick() {
	r.mu.Lock()
	r.armed = 0
	if r.ticking {
		r.mu.Unlock()
		return
	}
	r.ticking = true
	now := driver.Now()
	due := r.holds.upTo(now.Add(coalesce))
	r.mu.Unlock()

	var renew []*hold
	for _, h := range due {
		if h.look(now) {
			renew = append(renew, h)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticking = false
	r.arm()
	for _, h := range renew {
		r.pend(h)
	}
	r.start()
	r.rest()
}

// pend lists a hold to be renewed. R.mu is held.
func (r *renewer) pend(h *hold) {
	if r.pending == nil {
		r.pending = make(map[batchKind][]*hold)
	}
	kind := batchKind{h.req.Terms.TTL, h.renewal.failing}
	r.pending[kind] = append(r.pending[kind], h)
}

// unwanted says that the hold needs no renewal any more.
func (h *hold) unwanted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state != held
}

// look does what is due for the hold at now, and says whether it is to be renewed.
func (h *hold) look(now driver.Instant) (renew bool) {
	h.mu.Lock()
	lease, cause, expired := h.lease, error(nil), false
	switch {
	case h.state == held && !h.trust.Holds(now):
		cause = errDeadline
	case h.state == held && !h.lease.ends.IsZero() && !now.Before(h.lease.ends):
		cause = ErrMaxHold
	case h.state == held:
		early := min(h.trust.Interval()/8, coalesce)
		if renew = !h.renewal.sent && !now.Add(early).Before(h.trust.Due()); renew {
			h.renewal.sent, h.renewal.failing = true, h.renewal.failed != nil
			h.trust.Sending(now)
		}
		h.s.renewer.move(h, h.next())
	case h.state == condemned && !now.Before(h.trust.Ends()):
		expired = true
	case h.state == condemned:
		h.s.renewer.move(h, h.next())
	default: // it is on its way out
		h.s.renewer.move(h, now.Add(coalesce))
	}
	h.mu.Unlock()
	if cause != nil {
		h.cut(lease, cause)
	}
	if expired {
		h.expire()
	}
	return renew
}

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
