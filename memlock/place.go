package memlock

import (
	"iter"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// place is what the memory knows of one key.
type place struct {
	key     string
	holders list           // one exclusive holder, or any number of shared ones
	soonest driver.Instant // no holder's time is up before this, perhaps not then either
	queue   list           // those who wait for this very key
	last    int64          // the number of the last grant
	run     *run           // the last grant that was to be remembered
	slots   *slotting      // this key's part in groups of slots
	timer   *time.Timer    // runs while somebody waits, and looks after the holders
	due     driver.Instant // when it goes off
	idle    bool           // counted in memory.idle
}

// wanted says whether somebody waits for this place.
func (p *place) wanted() bool {
	return p.queue.head != nil || p.slots != nil && len(p.slots.groups) > 0
}

// isUnused says whether the place can be forgotten, apart from its number.
func (p *place) isUnused() bool {
	return p.holders.head == nil && p.queue.head == nil && p.slots == nil && p.run == nil
}

// admits says whether a holder of this mode may come to those who are there.
func (p *place) admits(mode driver.Mode) bool {
	return p.holders.head == nil || mode == driver.Shared && p.holders.head.mode == driver.Shared
}

// waiting goes through all who queue under this key. The loop may remove the one it is given.
func (p *place) waiting() iter.Seq[*claim] {
	return func(yield func(*claim) bool) {
		for c := range p.queue.all() {
			if !yield(c) {
				return
			}
		}
		if p.slots == nil {
			return
		}
		for c := range p.slots.waiters.all() {
			if !yield(c) {
				return
			}
		}
	}
}

// waiter finds an owner among all who queue under this key.
func (p *place) waiter(o owner) *claim {
	c := p.queue.find(o)
	if c == nil && p.slots != nil {
		c = p.slots.waiters.find(o)
	}
	return c
}

// claim is one owner's part in a place: a waiter, then a holder.
type claim struct {
	next, prev *claim
	owner
	watch   driver.Watcher
	host    string // these four are copied from the request's Holder
	program string
	note    string
	pid     int
	ttl     time.Duration
	number  int64          // of a holder
	since   int64          // wall clock in ns: granted, or for a waiter queued
	expires driver.Instant // of a holder
	wait    *wait          // of a waiter
	mode    driver.Mode
}

// over says whether the grant has expired.
func (c *claim) over(now driver.Instant) bool { return !now.Before(c.expires) }

func (c *claim) describe() driver.Holder {
	return driver.Holder{
		Host: c.host, PID: c.pid, Program: c.program, Note: c.note,
		Session: c.session.info.Session, Acq: c.acq, Mode: c.mode, Number: c.number, Since: time.Unix(0, c.since),
	}
}
