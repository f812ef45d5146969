package filelock

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

// grant numbers a grant whose lock was just taken, and writes it down before anybody hears of it. Without a number
// there is no grant, and the lock is given up.
func (t *target) grant() (driver.Grant, *hold, error) {
	holder, err := t.writeGrant()
	if err != nil {
		_ = t.file.unlock() // closing follows, and unlocks too
		return driver.Grant{}, nil, err
	}
	a, s := t.ask, t.ask.store
	h := &hold{
		store: s, ref: a.req.Ref, name: t.name, watch: a.req.Watch,
		holder: holder, owner: owner(s.session, a.req.Acq), number: holder.Number, file: t.file,
	}
	t.file = nil // it is the grant's now
	if !s.tells.Load() {
		if held, known := h.file.locked(); known && held {
			s.tells.Store(true)
		}
	}
	proof := driver.Proof{Sent: t.sent, Valid: s.valid(a.req.Terms)}
	return driver.Grant{Number: holder.Number, Proof: proof, Slot: t.slot, Since: holder.Since}, h, nil
}

// writeGrant writes a new grant into the record, and gives its description. A shared lock is numbered behind the door:
// two readers would take one number.
func (t *target) writeGrant() (h driver.Holder, err error) {
	a := t.ask
	if a.req.Mode == driver.Shared {
		if err := t.door.lock(a.ctx, create, doorPatience); err != nil {
			return h, err
		}
		defer t.door.unlock()
	}
	rec, old, err := t.read(1)
	if err != nil {
		return h, err
	}
	now := time.Now()
	if err := a.remembered(rec, now); err != nil {
		return h, err
	}
	rec.number, rec.name = next(rec.number, now), t.name
	if rec.number > driver.MaxNumber {
		return h, lasting("%s: no number is left below %d; delete the file while nobody holds it, "+
			"if the clock is right again", t.path, int64(driver.MaxNumber))
	}
	rec.state = shared
	if a.req.Mode == driver.Exclusive {
		rec.state, rec.writer = exclusive, rec.number
	}
	if a.remembers() {
		rec.ran = now.UnixNano()
	}
	rec.owner = owner(a.store.session, a.req.Acq)
	if a.req.Holder != nil {
		h = *a.req.Holder
	}
	h.Session, h.Acq, h.Mode, h.Number, h.Since = a.store.session, a.req.Acq, a.req.Mode, rec.number, now.Round(0)
	rec.describe(h)
	return h, t.file.write(rec, old)
}

// valid is how long a proof counts. The directory frees nothing by time, so it is as long as was asked for.
func (s *Store) valid(terms driver.Terms) time.Duration {
	if terms.TTL > 0 {
		return terms.TTL
	}
	return s.ttl
}
