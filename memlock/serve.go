package memlock

import (
	"errors"
	"math"
	"time"

	"github.com/tenurelock/tenure/driver"
)

const maxInstant = driver.Instant(math.MaxInt64)

var errExpired = errors.New("the memory's time to live ran out without a renewal")

// serve drops holders whose time is up, and gives the place to those who have waited longest, as far as they get along
// with each other. It is called after every change, so whenever a turn ends, the first waiter could not be granted.
func (t *turn) serve(p *place) {
	t.expire(p)
	for c := p.first(); c != nil && p.admits(c.mode); c = p.first() {
		w := c.wait
		if err := t.allows(p, w.oncePer, w.gap); err != nil {
			t.refuse(c, err)
			continue
		}
		t.dequeue(c)
		grant := t.grant(p, c, w.oncePer > 0 || w.gap > 0)
		grant.Slot = w.indexOf(p)
		w.answer(grant, nil)
		if w.slots != nil {
			t.serveFor(w) // everything is in its place by now, so it does no harm that this may come back here
		}
	}
	t.settle(p)
}

// expire drops the holders whose time is up.
func (t *turn) expire(p *place) {
	if p.holders.head == nil || t.now.Before(p.soonest) {
		return
	}
	p.soonest = maxInstant
	for c := range p.holders.all() {
		if c.over(t.now) {
			t.report(c, errExpired)
			t.drop(p, c)
		} else {
			p.soonest = min(p.soonest, c.expires)
		}
	}
}

// serveFor serves all that a waiter waits or waited for: one that is gone may have held back readers behind it.
func (t *turn) serveFor(w *wait) {
	if w.slots == nil {
		t.serve(w.place)
	}
	for _, slot := range w.slots {
		t.serve(slot)
	}
}

// first is who has waited longest for this place, in its own queue or for any of a group's slots.
func (p *place) first() *claim {
	c := p.queue.head
	if p.slots == nil {
		return c
	}
	for _, in := range p.slots.groups {
		if w := in.group.slots.firstFor(p); w != nil && (c == nil || w.wait.ticket < c.wait.ticket) {
			c = w
		}
	}
	return c
}

// grant makes a claim that is in no list a holder of p, from now on. The Proof's Sent and the Slot are the caller's.
func (t *turn) grant(p *place, c *claim, remember bool) driver.Grant {
	c.since = t.wall()
	c.expires = t.now.Add(c.ttl)
	c.number = max(p.last+1, c.since/int64(time.Microsecond))
	p.last = c.number
	if p.holders.head == nil {
		p.soonest = c.expires
	}
	p.soonest = min(p.soonest, c.expires)
	p.holders.push(c)
	if remember {
		p.run = &run{ns: c.since, holder: c.describe()}
	}
	return driver.Grant{Number: c.number, Proof: driver.Proof{Valid: c.ttl}, Since: time.Unix(0, c.since)}
}

// drop takes a holder away. The place is served afterwards.
func (t *turn) drop(p *place, c *claim) {
	p.holders.remove(c)
	*c = claim{}
	t.memory.claims.give(c)
}

// settle sets the place's timer and its part in the count of idle places by what is there now.
func (t *turn) settle(p *place) {
	t.arm(p)
	if is := p.isUnused(); is != p.idle {
		p.idle = is
		if is {
			t.memory.idle++
		} else {
			t.memory.idle--
		}
	}
}

// arm lets the timer run while somebody waits behind holders. One that goes off too early looks again, so a renewal or
// a hand-over touches no timer. The timer is never kept for later: under testing/synctest it belongs to one bubble.
func (t *turn) arm(p *place) {
	if !p.wanted() || p.holders.head == nil {
		if p.timer != nil {
			p.timer.Stop()
			p.timer = nil
		}
		return
	}
	if p.timer != nil && p.due > t.now && p.due <= p.soonest {
		return
	}
	p.due = p.soonest
	if p.timer != nil {
		p.timer.Reset(p.due.Sub(t.now))
		return
	}
	m := t.memory
	p.timer = time.AfterFunc(p.due.Sub(t.now), func() {
		// The place may have been forgotten meanwhile, or stand for another name: serving it does no harm.
		t := m.begin()
		defer t.end()
		t.serve(p)
	})
}
