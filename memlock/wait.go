package memlock

import (
	"context"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// wait is the part of a waiter that its Acquire looks at. It outlives the claim, which may be granted, lost and used
// again for another owner before the waiting goroutine wakes.
type wait struct {
	claim  *claim        // until done
	place  *place        // in whose queue it is: the key's, or the group's
	slots  []*place      // any of which it wants; nil: the key itself
	behind driver.Holder // who held it when it was queued
	ticket uint64
	sent   driver.Instant // the request's sending
	ttl    time.Duration

	oncePer, gap time.Duration

	// The answer, written once and under the mutex.
	done  bool
	grant driver.Grant
	err   error
	woken chan struct{} // closed with the answer
}

// enqueue makes a claim a waiter; the caller puts it into its list.
func (t *turn) enqueue(p *place, c *claim, req *driver.Request) *wait {
	t.memory.tickets++
	c.since = t.wall()
	c.wait = &wait{
		claim: c, place: p, ticket: t.memory.tickets, sent: t.sent, ttl: c.ttl,
		oncePer: req.OncePer, gap: req.Gap,
		woken: make(chan struct{}),
	}
	return c.wait
}

// dequeue takes a waiter out of its queue. Who calls it answers it, and then serves what it waited for.
func (t *turn) dequeue(c *claim) {
	if c.wait.slots != nil {
		t.quit(c)
	} else {
		c.wait.place.queue.remove(c)
	}
	c.wait = nil
}

// refuse ends a wait without a grant. Who calls it then serves what it waited for.
func (t *turn) refuse(c *claim, err error) {
	w := c.wait
	t.dequeue(c)
	*c = claim{}
	t.memory.claims.give(c)
	w.answer(driver.Grant{}, err)
}

func (w *wait) answer(grant driver.Grant, err error) {
	w.done, w.claim, w.grant, w.err = true, nil, grant, err
	close(w.woken)
}

// indexOf is the place's index among the slots that are wanted: 0 for a wait for the key itself, -1 for none of them.
func (w *wait) indexOf(p *place) int {
	if w.slots == nil {
		return 0
	}
	for i, slot := range w.slots {
		if slot == p {
			return i
		}
	}
	return -1
}

// minAsk keeps a tiny TTL from turning the wait into a loop.
const minAsk = time.Millisecond

// await waits for the answer, and asks every quarter of the TTL whether it still waits. A grant is trusted from the last
// such question on, so it comes with three quarters of its TTL however long the wait was, and with less only if this
// process stood still.
func (s *Store) await(ctx context.Context, w *wait) (driver.Grant, error) {
	sent, every := w.sent, max(w.ttl/4, minAsk)
	ask := time.NewTimer(every)
	defer ask.Stop()
	for {
		select {
		case <-w.woken:
			w.grant.Proof.Sent = sent
			return w.grant, w.err
		case <-ctx.Done():
			s.leave(w, ctx.Err())
			<-w.woken // answered by now, perhaps with a grant that came first
			w.grant.Proof.Sent = sent
			return w.grant, w.err
		case <-ask.C:
			if asked, waits := s.ask(w); waits {
				sent = asked
			}
			ask.Reset(every)
		}
	}
}

// ask asks whether w still waits, and when that was asked. Every question drives: timers stand still while the machine
// sleeps, so a holder may be overdue.
func (s *Store) ask(w *wait) (driver.Instant, bool) {
	t := s.memory.begin()
	defer t.end()
	if !w.done {
		t.serveFor(w)
	}
	return t.sent, !w.done
}

// leave takes w out of the queue, unless it has its answer. Whoever it held back gets along without it.
func (s *Store) leave(w *wait, why error) {
	t := s.memory.begin()
	defer t.end()
	if !w.done {
		t.refuse(w.claim, &driver.Fault{Kind: driver.Passing, Err: why})
		t.serveFor(w)
	}
}
