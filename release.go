package tenure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// release ends a lease in its holder's name: hands the grant on, or gives it back to the store.
func (h *hold) release(ctx context.Context, l *Lease) error {
	now := driver.Now()
	h.mu.Lock()
	if l.over == nil && !h.trust.Holds(now) {
		h.mu.Unlock()
		h.cut(l, errDeadline)
		h.mu.Lock()
	}
	if l.over != nil {
		return h.releaseLate(ctx, l, now)
	}
	if works := l.end(ErrReleased); works != nil {
		h.part(works)
	}
	handed, wake := h.handOn(l, now)
	if handed {
		l.settle(nil)
	} else {
		h.state = returning
	}
	h.mu.Unlock()
	if wake != nil {
		wake()
	}

	var err error
	if !handed {
		if err = h.giveBack(ctx, l, now); errors.Is(err, ErrLost) {
			l.noteLoss(err)
		}
	}
	if observe := l.locker.opts.Observer.Released; observe != nil {
		observe(l, now.Sub(l.granted), err)
	}
	l.locker.group.remove(l)
	return err
}

// part ends the contexts of a lease that is released, before anybody else can have the name. Ending them may run code of
// the program's own contexts, so mu, which is held, is let go of meanwhile.
func (h *hold) part(works *work) {
	h.state = parting
	h.mu.Unlock()
	works.cancelAll(ErrReleased)
	h.mu.Lock()
	h.state = held
	h.s.renewer.move(h, h.next())
}

// releaseLate is the release of a lease that is over: what was left to its holder is given back now. It unlocks mu.
func (h *hold) releaseLate(ctx context.Context, l *Lease, now driver.Instant) error {
	over, ours := l.over, h.state == condemned && h.lease == l
	if ours {
		h.state = returning
	}
	h.mu.Unlock()
	if ours {
		_ = h.giveBack(ctx, l, now) // that it was lost is what the holder must hear of
		l.locker.group.remove(l)
	}
	return over
}

// giveBack tells the store, at now, and lets the next caller of this process ask. The state is returning.
func (h *hold) giveBack(ctx context.Context, l *Lease, now driver.Instant) error {
	h.s.renewer.remove(h)
	telling := newAskContext(context.WithoutCancel(ctx), nil, now.Add(bound(h.req.Terms.TTL)))
	err := h.s.release(telling, h.req.Ref)
	telling.end()
	lost := errors.Is(err, driver.ErrNotOurs)
	switch {
	case lost:
		err = &LostError{Name: h.req.Name, Token: l.token, At: time.Now(), Cause: err}
	case err != nil:
		err = fmt.Errorf("tenure: release: %w", outcome(h.req.Name, err))
	}
	h.mu.Lock()
	h.state = finished
	l.settle(err)
	h.mu.Unlock()
	if err == nil || lost {
		h.exit()
	} else {
		h.s.cleaner.add(h).then(h.exit)
	}
	return err
}

// settle notes, with hold.mu held, how the release ended, for others who wait for that.
func (l *Lease) settle(err error) {
	l.settled, l.result = true, err
	if l.settling != nil {
		close(l.settling)
	}
}

// released waits until the release that is under way has ended, and gives its error.
func (l *Lease) released() error {
	l.hold.mu.Lock()
	if !l.settled && l.settling == nil {
		l.settling = make(chan struct{})
	}
	settled, settling := l.settled, l.settling
	l.hold.mu.Unlock()
	if !settled {
		<-settling
	}
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	return l.result
}

// noteLoss tells the observer and the operator.
func (l *Lease) noteLoss(lost error) {
	opts := &l.locker.opts
	l.hold.s.teller.tell(func() {
		opts.Logger.Warn("tenure: lease lost", "name", l.Name(), "token", l.token.String(), "error", lost)
		if opts.Observer.Lost != nil {
			opts.Observer.Lost(l, lost)
		}
	})
}

// noteTrouble tells the observer and the operator that a waiting caller gets no answer.
func (l *Locker) noteTrouble(name string, err error) {
	l.s.teller.tell(func() {
		l.opts.Logger.Warn("tenure: the store is unavailable, asking again", "name", name, "error", err)
		if l.opts.Observer.Unavailable != nil {
			l.opts.Observer.Unavailable(name, err)
		}
	})
}

// noteWait tells the observer.
func (l *Locker) noteWait(name string, holder *driver.Holder) {
	if observe := l.opts.Observer.Wait; observe != nil {
		l.s.teller.tell(func() { observe(name, holder) })
	}
}
