package rows

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/tenurelock/tenure/driver"
)

const (
	// firstPause is before the second question; it grows by half from then on, so that a name that has come free is found
	// within half the time that was waited for it.
	firstPause = 20 * time.Millisecond
	// maxPause is the longest pause of who only asks, and maxRest of who is also woken. Neither is longer than a quarter of
	// the TTL.
	maxPause = 2 * time.Second
	maxRest  = 5 * time.Second
	// slack is how long after its next question is due a waiter still counts as there.
	slack = 500 * time.Millisecond
	// nudge is how long after a moment to ask that the database's clock has to reach.
	nudge = time.Millisecond
)

var errClosing = errors.New("the session is closing")

// wait is the part of an acquisition that has been refused and goes on.
type wait struct {
	s     *Store
	q     *question
	pace  pace
	told  bool // Watch.Queued was called, so that there is an entry among the waiters
	woken chan struct{}
}

// askOnce sends the question and waits for its answer. The error is a fault: of the statement, or since nobody waits for it
// any more.
func (w *wait) askOnce(ctx context.Context) error {
	j := &job{kind: acquiring, acq: w.q.claim.acq, names: w.q.candidates(), asks: w.q}
	w.s.combine.submit(j)
	var why error
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		why = ctx.Err()
	case <-w.q.claim.abandoned:
		why = errAbandoned
	case <-w.s.closing:
		why = errClosing
	}
	sent, answered := w.s.combine.withdraw(j)
	switch {
	case answered:
		return j.err
	case why == errClosing: //nolint:errorlint // it is ours, three lines above
		return w.s.closedFault()
	}
	return unanswered(why, sent)
}

// queued tells the caller, once, that it waits. A connection to listen is opened for the second time only: short waits are
// not worth it.
func (w *wait) queued() {
	v := &w.q.verdict
	w.q.since = v.since
	if w.woken == nil && (w.told || w.q.listens) {
		w.woken = w.s.listen.enter(w.q.claim.acq)
	}
	if w.told {
		return
	}
	w.told = true
	var behind *driver.Holder
	if holder := v.holder; holder != (driver.Holder{}) {
		behind = &holder // a copy: the next answer overwrites the verdict
	}
	w.q.req.Watch.Queued(behind)
}

// sleep waits until it is time to ask again. The error is a fault, since nobody waits any more.
func (w *wait) sleep(ctx context.Context) error {
	timer := time.NewTimer(w.pace.next(w.q))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.woken:
		return nil
	case <-ctx.Done():
		return unanswered(ctx.Err(), 0)
	case <-w.q.claim.abandoned:
		return unanswered(errAbandoned, 0)
	case <-w.s.closing:
		return w.s.closedFault()
	}
}

// leftBehind makes of a fault without effect an unknown one where an earlier question has left an entry among the waiters.
func (w *wait) leftBehind(err error) error {
	var fault *driver.Fault
	if w.told && errors.As(err, &fault) && fault.Kind == driver.Passing {
		return &driver.Fault{Kind: driver.Unknown, Err: fault.Err}
	}
	return err
}

// leave takes the entry among the waiters back when the wait was refused for good, and wakes whoever is next: that one waits
// for the same work, and is to hear that it is done.
func (w *wait) leave(ctx context.Context) {
	if w.told {
		_ = w.s.do(ctx, &job{kind: releasing, acq: w.q.claim.acq, names: w.q.candidates()}) // else it runs out
	}
}

func (w *wait) end() {
	if w.woken != nil {
		w.s.listen.leave(w.q.claim.acq)
	}
}

// pace is how often a waiter asks.
type pace struct {
	now      time.Duration // the longest that the next pause may be
	drawn    time.Duration // the next pause, with its jitter
	most     time.Duration // of who only asks
	mostRest time.Duration // of who is woken
}

func newPace(ttl time.Duration) pace {
	quarter := max(ttl/4, firstPause)
	return pace{now: firstPause, most: min(quarter, maxPause), mostRest: min(quarter, maxRest)}
}

// promise draws the pause after the next question, and gives how long after that question the waiter has asked again or is
// gone, in µs.
func (p *pace) promise() int64 {
	p.drawn = p.now*3/4 + rand.N(p.now/4+1)
	return micros(p.drawn + slack)
}

// next is the pause after a question that was refused. The one after it is longer, and who is woken soon rests.
func (p *pace) next(q *question) time.Duration {
	pause := p.drawn
	if q.listens {
		p.now = min(4*p.now, p.mostRest)
	} else {
		pause = min(pause, p.most) // it may have listened until now
		p.now = min(p.now*3/2, p.most)
	}
	v := &q.verdict
	switch {
	case v.free && v.due > v.now: // the one before us has this long to take it
		pause = min(pause, time.Duration(v.due-v.now)*time.Microsecond+nudge)
	case v.ahead == 0 && v.expires > v.now: // we are the first to see the holder's time run out
		pause = min(pause, time.Duration(v.expires-v.now)*time.Microsecond+nudge)
	}
	return pause
}
