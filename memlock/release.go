package memlock

import (
	"context"
	"errors"

	"github.com/tenurelock/tenure/driver"
)

var errAbandoned = errors.New("the request was abandoned while it waited")

// Renew pushes out the end of each grant that is still its owner's. One whose time is up is gone, although nobody may
// have got the name since: whoever saw it free was right.
func (s *Store) Renew(_ context.Context, batch []driver.Renewal) {
	t := s.memory.begin()
	defer t.end()
	for i := range batch {
		r := &batch[i]
		r.Proof, r.Err = t.renew(s, r)
	}
}

func (t *turn) renew(s *Store, r *driver.Renewal) (driver.Proof, error) {
	if s.closed {
		return driver.Proof{}, s.closedFault()
	}
	p := t.memory.places[r.Key]
	if p == nil {
		return driver.Proof{}, driver.ErrNotOurs
	}
	c := p.holders.find(owner{s, r.Acq})
	if c == nil || c.over(t.now) {
		return driver.Proof{}, driver.ErrNotOurs
	}
	if r.Terms.TTL > 0 {
		c.ttl = r.Terms.TTL
	}
	c.expires = max(c.expires, t.now.Add(c.ttl)) // a shorter TTL must not undercut the trust of an earlier proof
	return driver.Proof{Sent: t.sent, Valid: c.ttl}, nil
}

// Release gives one grant back, and passes the name on in the same turn.
func (s *Store) Release(_ context.Context, ref driver.Ref) error {
	t := s.memory.begin()
	defer t.end()
	if s.closed {
		return s.closedFault()
	}
	if !t.release(s, ref.Key, ref.Acq) {
		return driver.ErrNotOurs
	}
	return nil
}

// release ends an owner's grant, and says whether it was good until now.
func (t *turn) release(s *Store, key string, acq uint64) bool {
	p := t.memory.places[key]
	if p == nil {
		return false
	}
	c := p.holders.find(owner{s, acq})
	if c == nil {
		return false
	}
	good := !c.over(t.now)
	t.drop(p, c)
	t.serve(p)
	return good
}

// Abandon takes owners out of queues, and gives back what they were granted. An Acquire that still waits under such a
// number returns. Nothing is remembered of a number without a claim: a late Acquire under it is granted.
func (s *Store) Abandon(_ context.Context, batch []driver.Removal) {
	t := s.memory.begin()
	defer t.end()
	for i := range batch {
		r := &batch[i]
		if r.Err = nil; s.closed {
			r.Err = s.closedFault()
			continue
		}
		t.abandon(s, r)
	}
}

func (t *turn) abandon(s *Store, r *driver.Removal) {
	if p := t.memory.places[r.Key]; p != nil {
		if c := p.waiter(owner{s, r.Acq}); c != nil {
			w := c.wait
			t.refuse(c, &driver.Fault{Kind: driver.Passing, Err: errAbandoned})
			t.serveFor(w)
		}
	}
	if len(r.Slots) == 0 {
		t.release(s, r.Key, r.Acq)
	}
	for i := range r.Slots {
		t.release(s, r.Slots[i].Key, r.Acq)
	}
}
