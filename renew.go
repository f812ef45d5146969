package tenure

import (
	"container/heap"
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
	ticking bool        // tick runs; it looks at what comes meanwhile, too
	looking *time.Timer // looks for suspends while there are holds

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
	switch {
	case len(r.holds) > 1:
	case r.looking == nil:
		r.looking = time.AfterFunc(clock.Interval, r.look)
	default: // put off, so that short leases never cost a look
		r.looking.Reset(clock.Interval)
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
		r.mu.Unlock()
		return
	}
	late := r.holds[0].at.Before(driver.Now())
	r.looking.Reset(clock.Interval)
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
