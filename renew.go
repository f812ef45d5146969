package tenure

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/clock"
)

const (
	// renewers is how many batches of renewals are under way at once, however many leases there are.
	renewers = 4
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

	pending []*hold // due to be renewed
	workers int
	resting chan struct{} // made by quiet; closed when no worker is left
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
	r.ticking = false
	r.arm()
	r.pending = append(r.pending, renew...)
	start := min(renewers-r.workers, (len(r.pending)+renewBatch-1)/renewBatch)
	for range start {
		r.workers++
		go r.work()
	}
	r.mu.Unlock()
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
	if h.state != held && h.state != condemned {
		h.mu.Unlock()
		return false
	}
	lost := !h.trust.Holds(now)
	worn := !lost && h.state == held && !h.lease.ends.IsZero() && !now.Before(h.lease.ends)
	lease := h.lease
	if !lost && !worn {
		early := h.trust.Interval() / 8
		if renew = h.state == held && !h.renewal.sent && !now.Add(min(early, coalesce)).Before(h.trust.Due()); renew {
			h.renewal.sent = true
			h.trust.Sending(now)
		}
		h.s.renewer.move(h, h.next())
	}
	h.mu.Unlock()
	switch {
	case lost:
		h.lose(errDeadline, false)
	case worn:
		h.cut(lease, errMaxHold)
	}
	return renew
}

// work renews what is pending, and ends when nothing is.
func (r *renewer) work() {
	batch := make([]driver.Renewal, 0, 8)
	for {
		r.mu.Lock()
		n := min(len(r.pending), renewBatch)
		if n == 0 {
			r.pending = nil
			if r.workers--; r.workers == 0 && r.resting != nil {
				close(r.resting)
				r.resting = nil
			}
			r.mu.Unlock()
			return
		}
		due := r.pending[:n:n]
		r.pending = r.pending[n:]
		r.mu.Unlock()
		due = slices.DeleteFunc(due, (*hold).unwanted) // since it was due, it may have been released
		batch = r.renew(due, batch[:0])
	}
}

func (r *renewer) renew(holds []*hold, batch []driver.Renewal) []driver.Renewal {
	if len(holds) == 0 {
		return batch
	}
	limit := time.Duration(maxTTL)
	for _, h := range holds {
		batch = append(batch, driver.Renewal{Ref: h.req.Ref, Terms: h.req.Terms})
		limit = min(limit, h.req.Terms.TTL/3)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	r.call(ctx, batch)
	cancel()
	now := driver.Now()
	for i, h := range holds {
		h.renewed(now, batch[i])
	}
	return batch
}

// call is the driver's Renew, whose panic counts as a renewal that failed: the deadlines decide what becomes of it.
func (r *renewer) call(ctx context.Context, batch []driver.Renewal) {
	defer func() {
		if p := recover(); p != nil {
			for i := range batch {
				batch[i].Err = fmt.Errorf("the driver panicked while renewing: %v", p)
			}
		}
	}()
	r.s.store.Renew(ctx, batch)
}

// renewed takes the answer to a renewal.
func (h *hold) renewed(now driver.Instant, answer driver.Renewal) {
	h.mu.Lock()
	h.renewal.sent = false
	if h.state != held {
		h.mu.Unlock()
		return
	}
	lease, first := h.lease, h.renewal.failed == nil
	var lost, gone bool
	switch h.renewal.failed = answer.Err; {
	case answer.Err == nil:
		lost = !h.trust.Renewed(now, answer.Proof)
	case errors.Is(answer.Err, driver.ErrNotOurs):
		lost, gone = true, true
	default:
		h.trust.Failed(now, rand.Float64())
		lost = !h.trust.Holds(now)
	}
	if !lost {
		h.s.renewer.move(h, h.next())
	}
	h.mu.Unlock()
	if observe := lease.locker.opts.Observer.Renew; observe != nil {
		observe(lease, answer.Err)
	}
	switch {
	case gone:
		h.lose(answer.Err, true)
	case lost:
		h.lose(errDeadline, false)
	case answer.Err != nil && first:
		lease.locker.opts.Logger.Warn("tenure: renewal failed, trying again until the deadline", "name", lease.Name(), "error", answer.Err)
	}
}

// quiet waits until no renewal is under way, unless there are holds to be renewed.
func (r *renewer) quiet(ctx context.Context) error {
	r.mu.Lock()
	if r.workers == 0 || len(r.holds) > 0 {
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
