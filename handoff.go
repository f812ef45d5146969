package tenure

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

// maxHanding is how long one grant is handed on inside the process, from the first hand-off. Other processes may wait, and
// most stores cannot tell, so it is presumed that they do.
const maxHanding = 10 * time.Millisecond

// handOn gives the hold to the next caller of this process, with the next token of the same grant and without asking the
// store, and says whether it did. H.mu is held; wake, if it is not nil, must be called without it.
func (h *hold) handOn(from *Lease, now driver.Instant) (handed bool, wake func()) {
	switch {
	case h.lostEarly() != nil, from.locker.opts.NoHandoff, h.req.Mode == driver.Shared, h.handed >= maxHandoffs:
		return false, nil
	case h.handed > 0 && now.Sub(h.first) > maxHanding:
		return false, nil
	case h.trust.Left(now) < h.trust.Interval()*3/4: // less than a quarter of what a proof is good for
		return false, nil // renewals are failing: let the store decide
	}
	if h.group != nil {
		return h.group.hand(h.req.Name, func(l *Locker) *Lease { return h.leaseFor(l, now) })
	}
	return h.s.queue.Hand(h.req.Key, func(c *call) bool {
		c.lease = h.leaseFor(c.locker, now)
		return c.lease != nil
	}), nil
}

// leaseFor makes the next lease of the grant, if the Locker wants just what the hold is; otherwise nil.
func (h *hold) leaseFor(l *Locker, now driver.Instant) *Lease {
	if l.terms != h.req.Terms || l.opts.NoHandoff || l.remembers() || !sameHolder(l.opts.Holder, h.req.Holder) {
		return nil
	}
	h.handed++
	lease := h.newLease(l, now)
	if !l.group.add(lease) {
		h.handed--
		return nil
	}
	if h.handed == 1 {
		h.first = now
	}
	was := h.lease.ends
	h.lease = lease
	if lease.ends != was {
		h.s.renewer.move(h, h.next())
	}
	return lease
}

// remembers says whether the store must hear of every grant.
func (l *Locker) remembers() bool { return l.opts.OncePer > 0 || l.opts.MinHold > 0 }

func sameHolder(a, b *driver.Holder) bool { return a == b || *a == *b }
