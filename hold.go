package tenure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/trust"
)

// hold is one grant of the store, from the asking to its end. One lease at a time has it; a hand-off gives it to the next.
//
// Locks are taken in this order: hold.mu, then the queue's, the group's or the renewer's.
type hold struct {
	s     *session
	asker *Locker        // who asked for it
	req   driver.Request // its Ref is that of the slot once one is granted
	gate  string         // the key of the gate in which it is
	group *slotGroup     // nil: it is no slot

	mu      sync.Mutex
	state   holdState
	queued  bool          // the store has said that the request waits
	behind  driver.Holder // for whom, if it said so
	early   error         // a loss that was reported before the grant's answer
	trust   trust.Trust
	number  int64
	since   time.Time
	handed  int            // hand-offs so far
	first   driver.Instant // when the first of them was
	lease   *Lease
	renewal renewal

	// The renewer's, guarded by its mutex.
	at    driver.Instant
	index int
}

type holdState uint8

const (
	asking    holdState = iota
	held                // a lease lives
	condemned           // the lease was cut off while the grant is ours: nobody renews it
	returning           // the store is being told
	finished            // given back or lost
)

// renewal is where the renewing of a hold stands.
type renewal struct {
	sent   bool  // one is under way
	failed error // why the last one proved nothing
}

// Queued is the store's word that the request waits.
func (h *hold) Queued(holder *driver.Holder) {
	h.mu.Lock()
	h.queued = true
	if holder != nil {
		h.behind = *holder
	}
	h.mu.Unlock()
	if observe := h.asker.opts.Observer.Wait; observe != nil {
		observe(h.req.Name, holder)
	}
}

// queuedBehind tells what Queued said.
func (h *hold) queuedBehind() (driver.Holder, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.behind, h.queued
}

// Lost is the store's word that the grant is gone.
func (h *hold) Lost(cause error) { h.lose(cause, true) }

// begin makes the first lease of a grant. It says what is wrong if there is none: the grant must then be given back.
func (h *hold) begin(l *Locker, grant driver.Grant) (*Lease, error) {
	now := driver.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.early != nil {
		return nil, &driver.Fault{Kind: driver.Passing, Err: fmt.Errorf("lost while it was granted: %w", h.early)}
	}
	if grant.Number <= 0 || grant.Number > driver.MaxNumber {
		return nil, &driver.Fault{Kind: driver.Lasting, Err: fmt.Errorf("the store numbered a grant %d, which is no number from 1 to %d", grant.Number, driver.MaxNumber)}
	}
	if len(h.req.Slots) > 0 {
		slot := h.req.Slots[grant.Slot]
		h.req.Name, h.req.Key, h.req.Slots, h.gate = slot.Name, slot.Key, nil, slot.Key
	}
	h.trust = trust.Start(l.terms, grant.Proof)
	h.number, h.since = grant.Number, grant.Since
	if !h.trust.Holds(now) {
		return nil, &driver.Fault{Kind: driver.Passing, Err: fmt.Errorf("the grant arrived %v after its trust had ended", now.Sub(h.trust.Until()))}
	}
	lease := h.newLease(l, now)
	if !l.group.add(lease) {
		return nil, ErrClosed
	}
	h.state, h.lease = held, lease
	if h.group != nil {
		h.group.keep()
		h.s.queue.Occupy(h.gate, h)
	}
	h.s.renewer.add(h, h.next())
	return lease, nil
}

func (h *hold) newLease(l *Locker, now driver.Instant) *Lease {
	lease := &Lease{hold: h, locker: l, token: newToken(h.number, h.handed), granted: now}
	if l.opts.MaxHold > 0 {
		lease.ends = now.Add(l.opts.MaxHold)
	}
	return lease
}

// next is when the renewer must look at the hold again, with mu held.
func (h *hold) next() driver.Instant {
	at := h.trust.Until()
	if h.state != held {
		return at
	}
	if !h.renewal.sent {
		at = min(at, h.trust.Due())
	}
	if !h.lease.ends.IsZero() {
		at = min(at, h.lease.ends)
	}
	return at
}

// release ends a lease in its holder's name: hands the grant on, or gives it back to the store.
func (h *hold) release(ctx context.Context, l *Lease) error {
	now := driver.Now()
	h.mu.Lock()
	if l.over == nil && !h.trust.Holds(now) {
		h.mu.Unlock()
		h.lose(errDeadline, false)
		return l.ended()
	}
	if l.over != nil {
		err, cutOff := l.over, h.state == condemned && h.lease == l
		if cutOff {
			h.state = returning
		}
		h.mu.Unlock()
		if cutOff {
			_ = h.giveBack(ctx, l) // that it was cut off is what the holder must hear of
			l.locker.group.remove(l)
		}
		return err
	}
	l.end(ErrReleased).cancelAll(ErrReleased) // before anybody else has the name; a cancellation runs no code of others
	handed := h.handOn(l, now)
	if !handed {
		h.state = returning
	}
	h.mu.Unlock()

	var err error
	if !handed {
		if err = h.giveBack(ctx, l); errors.Is(err, ErrLost) {
			l.locker.noteLoss(l, err)
		}
	}
	if observe := l.locker.opts.Observer.Released; observe != nil {
		observe(l, now.Sub(l.granted), err)
	}
	l.locker.group.remove(l)
	return err
}

// giveBack tells the store, and lets the next caller of this process ask. The state is returning.
func (h *hold) giveBack(ctx context.Context, l *Lease) error {
	h.s.renewer.remove(h)
	telling := newAskContext(context.WithoutCancel(ctx), nil, bound(h.req.Terms.TTL))
	err := h.s.store.Release(telling, h.req.Ref)
	telling.end()
	h.mu.Lock()
	h.state = finished
	h.mu.Unlock()
	if err == nil {
		h.exit()
		return nil
	}
	if errors.Is(err, driver.ErrNotOurs) {
		h.exit()
		return &LostError{Name: h.req.Name, Token: l.token, Cause: err}
	}
	h.s.cleaner.add(h, driver.Now())
	return fmt.Errorf("tenure: release: %w", outcome(h.req.Name, err))
}

// exit lets the next caller in.
func (h *hold) exit() {
	h.s.queue.Exit(h.gate, h.req.Mode == driver.Shared)
	if h.group != nil {
		h.group.free()
		h.group.drop()
	}
}

// lose ends the hold, unless it has ended. Gone says that the store has passed the name on, or may have, by its own word;
// otherwise it may still be ours there, and is cleaned up.
func (h *hold) lose(cause error, gone bool) {
	h.mu.Lock()
	if h.state == asking {
		h.early = cause
	}
	if h.state != held && h.state != condemned {
		h.mu.Unlock()
		return
	}
	h.state = finished
	lease := h.lease
	var works *work
	var lost *LostError
	if lease.over == nil {
		lost = h.lostError(lease, cause)
		works = lease.end(lost)
	}
	h.mu.Unlock()

	h.s.renewer.remove(h)
	if lost != nil {
		works.cancelAll(lost)
		lease.locker.noteLoss(lease, lost)
	}
	lease.locker.group.remove(lease)
	if gone {
		h.exit()
	} else {
		h.s.cleaner.add(h, driver.Now())
	}
}

// cut ends a lease although its grant is ours: by MaxHold or by Close. The grant is given back when its holder releases,
// or when its last proof runs out, so that the work has that long to end.
func (h *hold) cut(l *Lease, cause error) {
	h.mu.Lock()
	if h.lease != l || h.state != held {
		h.mu.Unlock()
		return
	}
	h.state = condemned
	lost := h.lostError(l, cause)
	works := l.end(lost)
	h.s.renewer.move(h, h.next())
	h.mu.Unlock()
	works.cancelAll(lost)
	l.locker.noteLoss(l, lost)
}

func (h *hold) lostError(l *Lease, cause error) *LostError {
	if errors.Is(cause, errDeadline) && h.renewal.failed != nil {
		cause = fmt.Errorf("%w: %w", errDeadline, h.renewal.failed)
	}
	return &LostError{Name: h.req.Name, Token: l.token, Cause: cause}
}

// noteLoss tells the observer and the operator.
func (l *Locker) noteLoss(lease *Lease, lost error) {
	l.opts.Logger.Warn("tenure: lease lost", "name", lease.Name(), "token", lease.token.String(), "error", lost)
	if l.opts.Observer.Lost != nil {
		l.opts.Observer.Lost(lease, lost)
	}
}

// describe says who has the name, for a caller of this process that is turned away.
func (h *hold) describe() driver.Holder {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == asking {
		return h.behind
	}
	holder := *h.req.Holder
	holder.Session, holder.Acq, holder.Mode = h.s.info.Session, h.req.Acq, h.req.Mode
	holder.Number, holder.Since = h.number, h.since
	return holder
}
