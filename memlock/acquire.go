package memlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenurelock/tenure/driver"
)

var errTwice = errors.New("this acquisition number holds the name already, or waits for it")

// Acquire asks for one grant. It answers at once, or with req.Wait waits in the name's queue. When it returns an error,
// nothing was granted and nothing is left in the queue: the answer of a memory cannot be lost.
func (s *Store) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, &driver.Fault{Kind: driver.Passing, Err: err}
	}
	if err := supported(req); err != nil {
		return driver.Grant{}, err
	}
	grant, w, err := s.try(req)
	if w == nil {
		return grant, err
	}
	req.Watch.Queued(&w.behind)
	return s.await(ctx, w)
}

// supported refuses what makes no sense together.
func supported(req *driver.Request) error {
	remember := req.OncePer > 0 || req.Gap > 0
	switch {
	case remember && len(req.Slots) > 0:
		return driver.Unsupported("OncePer and Gap with slots")
	case remember && req.Mode == driver.Shared:
		return driver.Unsupported("OncePer and Gap with a shared grant")
	case req.Mode == driver.Shared && len(req.Slots) > 0:
		return driver.Unsupported("a shared grant of a slot")
	}
	return nil
}

// try grants what is free and wanted by nobody before. Otherwise it refuses, or with req.Wait has put the request into
// the queue and gives the wait.
func (s *Store) try(req *driver.Request) (driver.Grant, *wait, error) {
	t := s.memory.begin()
	defer t.end()
	if s.closed {
		return driver.Grant{}, nil, s.closedFault()
	}
	p := t.memory.place(req.Key)
	if s.has(p, req) {
		return driver.Grant{}, nil, &driver.Fault{Kind: driver.Lasting, Err: fmt.Errorf("%q, %d: %w", req.Name, req.Acq, errTwice)}
	}
	if len(req.Slots) > 0 {
		return s.trySlots(&t, p, req)
	}
	t.serve(p)
	defer t.settle(p)
	free := p.admits(req.Mode) && !p.wanted()
	if err := t.allows(p, req.OncePer, req.Gap); err != nil {
		var done *driver.DoneError
		if free || errors.As(err, &done) {
			return driver.Grant{}, nil, err
		}
		// Somebody holds it, and by the time that ends the gap may have passed: that is looked at again then.
	}
	if free {
		grant := t.grant(p, s.claim(req), req.OncePer > 0 || req.Gap > 0)
		grant.Proof.Sent = t.sent
		return grant, nil, nil
	}
	holder := p.holders.head
	if !req.Wait {
		return driver.Grant{}, nil, &driver.HeldError{Holder: holder.describe(), RetryAfter: p.gapLeft(t.wall(), req.Gap)}
	}
	w := t.enqueue(p, s.claim(req), req)
	w.behind = holder.describe()
	p.queue.push(w.claim)
	return driver.Grant{}, w, nil
}

// trySlots is try for any of several places.
func (s *Store) trySlots(t *turn, group *place, req *driver.Request) (driver.Grant, *wait, error) {
	for i := range req.Slots {
		p := t.memory.place(req.Slots[i].Key)
		t.serve(p)
		if p.holders.head != nil {
			continue
		}
		grant := t.grant(p, s.claim(req), false)
		t.settle(p)
		grant.Slot, grant.Proof.Sent = i, t.sent
		return grant, nil, nil
	}
	holder := t.memory.places[req.Slots[0].Key].holders.head
	if !req.Wait {
		return driver.Grant{}, nil, &driver.HeldError{Holder: holder.describe()}
	}
	w := t.enqueue(group, s.claim(req), req)
	w.behind = holder.describe()
	for i := range req.Slots {
		w.slots = append(w.slots, t.memory.place(req.Slots[i].Key))
	}
	t.join(group, w.claim)
	return driver.Grant{}, w, nil
}

// has says whether this owner holds or awaits what it asks for.
func (s *Store) has(p *place, req *driver.Request) bool {
	o := owner{s, req.Acq}
	if p.waiter(o) != nil {
		return true
	}
	if len(req.Slots) == 0 {
		return p.holders.find(o) != nil
	}
	for i := range req.Slots {
		if slot := s.memory.places[req.Slots[i].Key]; slot != nil && slot.holders.find(o) != nil {
			return true
		}
	}
	return false
}

// claim copies what is kept of a request.
func (s *Store) claim(req *driver.Request) *claim {
	c := s.memory.claims.take()
	c.owner, c.mode, c.watch = owner{s, req.Acq}, req.Mode, req.Watch
	c.ttl = req.Terms.TTL
	if c.ttl <= 0 {
		c.ttl = s.info.TTL
	}
	if h := req.Holder; h != nil {
		c.host, c.pid, c.program, c.note = h.Host, h.PID, h.Program, h.Note
	}
	return c
}
