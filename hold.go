package tenure

import (
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
	req   driver.Request // its Ref is that of the slot once one is granted; its Key is that of the gate in which it is
	group *slotGroup     // nil: it is no slot

	mu      sync.Mutex
	state   holdState
	handed  uint8 // hand-offs so far
	word    *word // what most requests never hear of
	trust   trust.Trust
	number  int64
	since   time.Time
	first   driver.Instant // when the first hand-off was
	lease   *Lease
	renewal renewal

	// The renewer's, guarded by its mutex.
	at    driver.Instant
	index int
}

// word is what a store says of a request before it is granted.
type word struct {
	queued  bool          // that it waits
	behind  driver.Holder // for whom, if it said so
	trouble error         // why it did not even answer, the last time
	early   error         // a loss that was reported while that could not be acted on
}

type holdState uint8

const (
	asking    holdState = iota
	held                // a lease lives
	parting             // the lease was released, and its contexts are being ended
	condemned           // the lease is over while the grant may be ours: nobody renews it
	returning           // the store is being told
	finished            // given back or gone
)

// renewal is where the renewing of a hold stands.
type renewal struct {
	failed  error // why the last one proved nothing
	sent    bool  // one is under way
	failing bool  // that one was tried before and failed
}

// Queued is the store's word that the request waits.
func (h *hold) Queued(holder *driver.Holder) {
	h.mu.Lock()
	h.heard().queued = true
	if holder != nil {
		h.word.behind = *holder
	}
	h.mu.Unlock()
	h.asker.noteWait(h.req.Name, holder)
}

// queuedBehind tells what Queued said.
func (h *hold) queuedBehind() (holder driver.Holder, queued bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.word == nil {
		return driver.Holder{}, false
	}
	return h.word.behind, h.word.queued
}

// heard makes room, with mu held, for what the store says.
func (h *hold) heard() *word {
	if h.word == nil {
		h.word = new(word)
	}
	return h.word
}

// trouble tells why the store did not answer.
func (h *hold) trouble() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.word == nil {
		return nil
	}
	return h.word.trouble
}

// lostEarly tells, with mu held, of a loss that could not be acted on.
func (h *hold) lostEarly() error {
	if h.word == nil {
		return nil
	}
	return h.word.early
}

// fails notes why the store did not answer, for those who are turned away meanwhile.
func (h *hold) fails(why error) {
	h.mu.Lock()
	h.heard().trouble = why
	h.mu.Unlock()
}

// begin makes the first lease of a grant. It says what is wrong if there is none: the grant must then be given back.
func (h *hold) begin(l *Locker, grant driver.Grant) (*Lease, error) {
	now := driver.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch slots := len(h.req.Slots); {
	case h.lostEarly() != nil:
		return nil, &driver.Fault{Kind: driver.Passing, Err: fmt.Errorf("lost while it was granted: %w", h.word.early)}
	case grant.Number <= 0 || grant.Number > driver.MaxNumber:
		return nil, &driver.Fault{Kind: driver.Lasting, Err: fmt.Errorf("the store numbered a grant %d, which is no number from 1 to %d", grant.Number, driver.MaxNumber)}
	case slots > 0 && (grant.Slot < 0 || grant.Slot >= slots):
		return nil, &driver.Fault{Kind: driver.Lasting, Err: fmt.Errorf("the store granted slot %d of %d", grant.Slot, slots)}
	case slots > 0:
		slot := h.req.Slots[grant.Slot]
		h.req.Name, h.req.Key, h.req.Slots = slot.Name, slot.Key, nil
	}
	h.trust = trust.Start(l.terms, h.believe(now, grant.Proof))
	h.number, h.since = grant.Number, grant.Since
	if !h.trust.Holds(now) {
		return nil, &driver.Fault{Kind: driver.Passing, Err: fmt.Errorf("the grant arrived %v after its trust had ended", now.Sub(h.trust.Until()))}
	}
	lease := h.newLease(l, now)
	if !l.group.add(lease) {
		return nil, &driver.Fault{Kind: driver.Passing, Err: ErrClosed}
	}
	h.state, h.lease = held, lease
	if h.group != nil {
		h.group.keep()
		h.s.queue.Occupy(h.req.Key, h)
	}
	h.s.renewer.add(h, h.next())
	return lease, nil
}

// believe takes no more from a proof than can be true: a driver's mistake must not prolong trust.
func (h *hold) believe(now driver.Instant, proof driver.Proof) driver.Proof {
	return driver.Proof{Sent: min(proof.Sent, now), Valid: min(proof.Valid, h.req.Terms.TTL)}
}

func (h *hold) newLease(l *Locker, now driver.Instant) *Lease {
	lease := &Lease{hold: h, locker: l, token: newToken(h.number, int(h.handed)), granted: now}
	if l.opts.MaxHold > 0 {
		lease.ends = now.Add(min(l.opts.MaxHold, longestHold))
	}
	return lease
}

// next is when the renewer must look at the hold again, with mu held.
func (h *hold) next() driver.Instant {
	if h.state != held {
		return h.trust.Ends()
	}
	at := h.trust.Until()
	if !h.renewal.sent {
		at = min(at, h.trust.Due())
	}
	if !h.lease.ends.IsZero() {
		at = min(at, h.lease.ends)
	}
	return at
}

// cut ends a lease although its grant may be ours: by its deadline, by MaxHold or by Close. The grant is given back when
// its holder releases, or when the store would pass it on by itself, so that the work has that long to end. It says
// whether it was this that ended the lease.
func (h *hold) cut(l *Lease, cause error) bool {
	h.mu.Lock()
	if h.lease != l || h.state != held {
		h.mu.Unlock()
		return false
	}
	h.state = condemned
	if cause == errDeadline && h.renewal.failed != nil { //nolint:errorlint // it is ours, and never wrapped before
		cause = fmt.Errorf("%w: %w", errDeadline, h.renewal.failed)
	}
	lost := &LostError{Name: h.req.Name, Token: l.token, At: time.Now(), Cause: cause}
	works := l.end(lost)
	h.s.renewer.move(h, h.next())
	h.mu.Unlock()
	works.cancelAll(lost)
	l.noteLoss(lost)
	return true
}

// Lost is the store's word that the grant is gone: the name is, or may be, another's.
func (h *hold) Lost(cause error) {
	h.mu.Lock()
	if h.state == asking || h.state == parting {
		h.heard().early = cause
	}
	if h.state != held && h.state != condemned {
		h.mu.Unlock()
		return
	}
	h.state = finished
	l := h.lease
	var works *work
	var lost *LostError
	if l.over == nil {
		lost = &LostError{Name: h.req.Name, Token: l.token, At: time.Now(), Cause: cause}
		works = l.end(lost)
	}
	h.mu.Unlock()
	if lost != nil {
		works.cancelAll(lost)
		l.noteLoss(lost)
	}
	h.s.renewer.remove(h)
	h.exit()
	l.locker.group.remove(l)
}

// Asked ends the lease because somebody asked for its name. The grant is given back when the holder has ended its work and
// releases, as with any lease that ends before its grant.
func (h *hold) Asked(by string) {
	h.mu.Lock()
	lease := h.lease
	h.mu.Unlock()
	if lease != nil {
		h.cut(lease, fmt.Errorf("%w, by %s", ErrAsked, by))
	}
}

// expire has a condemned hold cleaned up, when the store would pass it on by itself.
func (h *hold) expire() {
	h.mu.Lock()
	if h.state != condemned {
		h.mu.Unlock()
		return
	}
	h.state = finished
	l := h.lease
	h.mu.Unlock()
	h.s.renewer.remove(h)
	h.s.cleaner.add(h).then(h.exit)
	l.locker.group.remove(l)
}

// exit lets the next caller in.
func (h *hold) exit() {
	h.s.leave(h.req.Key, h.req.Mode == driver.Shared, h)
	if h.group != nil {
		h.group.drop()
	}
}

// describe says who has the name, for a caller of this process that is turned away; or why nobody knows.
func (h *hold) describe() (driver.Holder, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == asking {
		if h.word == nil {
			return driver.Holder{}, nil
		}
		return h.word.behind, h.word.trouble
	}
	holder := *h.req.Holder
	holder.Session, holder.Acq, holder.Mode = h.s.info.Session, h.req.Acq, h.req.Mode
	holder.Number, holder.Since = h.number, h.since
	return holder, nil
}
