package session

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/key"
)

// acquireSlot asks for any of several locks. Who waits queues for a lock of its own, the group's door; behind it one waiter
// at a time, of all processes, tries the slots again and again.
func (s *Store) acquireSlot(ctx context.Context, c *claim, req *driver.Request) (driver.Grant, error) {
	slots, err := s.slotLocks(req)
	if err != nil {
		return driver.Grant{}, err
	}
	a := slotAsk(c, slots)
	if err := s.try(ctx, c, a, nil); err != nil {
		return driver.Grant{}, err
	}
	defer a.free()
	if a.number > 0 {
		return s.grantSlot(ctx, c, a)
	}
	if !req.Wait {
		return driver.Grant{}, s.refuse(ctx, slots[0].lock)
	}
	return s.waitForSlot(ctx, c, req, slots)
}

// slot is one of a request's slots, with its index there: they are tried in another order.
type slot struct {
	lock
	index int
}

func (s *Store) slotLocks(req *driver.Request) ([]slot, error) {
	slots := make([]slot, len(req.Slots))
	for i, wanted := range req.Slots {
		l, err := lockOf(wanted.Key, driver.Exclusive)
		if err != nil {
			return nil, lasting(err)
		}
		s.names.note(l, wanted.Name)
		slots[i] = slot{l, i}
	}
	return slots, nil
}

// slotAsk asks for the slots in an order that differs from one ask to the next.
func slotAsk(c *claim, slots []slot) *ask {
	from := rand.IntN(len(slots))
	a := newAsk(toSlot)
	a.claim, a.slots = c, slices.Concat(slots[from:], slots[:from])
	return a
}

func (s *Store) grantSlot(ctx context.Context, c *claim, a *ask) (driver.Grant, error) {
	taken := a.slots[a.slot].index
	grant, err := s.grant(ctx, c, a)
	grant.Slot = taken
	return grant, err
}

// The pauses between the tries of whoever is at the door.
const (
	minKnock = 2 * time.Millisecond
	maxKnock = 100 * time.Millisecond
)

// waitForSlot waits at the door, in the server's queue, and then for a slot. The door is a claim of its own, which nobody
// outside hears of.
func (s *Store) waitForSlot(ctx context.Context, c *claim, req *driver.Request, slots []slot) (driver.Grant, error) {
	group, err := lockOf(req.Key, driver.Exclusive)
	if err != nil {
		return driver.Grant{}, lasting(err)
	}
	door := &claim{ref: driver.Ref{Name: req.Name, Acq: 0}, watch: &doorWatch{to: req.Watch, slots: slots, s: s}}
	doorKey, err := lockOf(key.Door(group.key()).String(), driver.Exclusive)
	if err != nil {
		return driver.Grant{}, lasting(err)
	}
	s.enterInner(door)
	defer s.drop(door)
	if _, err := s.wait(ctx, door, doorKey); err != nil {
		if err == errNoRoom { //nolint:errorlint // it is never wrapped
			return driver.Grant{}, &driver.HeldError{RetryAfter: s.room.pause()}
		}
		return driver.Grant{}, err
	}
	told := false
	for pause := minKnock; ; pause = min(2*pause, maxKnock) {
		if err := s.keepDoor(ctx, door); err != nil {
			return driver.Grant{}, err
		}
		a := slotAsk(c, slots)
		if err := s.try(ctx, c, a, nil); err != nil {
			return driver.Grant{}, err
		}
		if a.number > 0 {
			defer a.free()
			return s.grantSlot(ctx, c, a)
		}
		a.free()
		if !told {
			told = true
			door.watch.Queued(nil)
		}
		if err := s.sleep(ctx, pause/2+rand.N(pause/2)); err != nil {
			return driver.Grant{}, err
		}
	}
}

// keepDoor keeps the session alive that has the door. If that is lost, the waiter begins anew.
func (s *Store) keepDoor(ctx context.Context, door *claim) error {
	s.mu.Lock()
	l, still, proved := door.line, door.state == held, door.proved
	s.mu.Unlock()
	switch {
	case !still:
		return &driver.HeldError{RetryAfter: s.room.pause()}
	case driver.Now().Sub(proved) < s.ttl/3:
		return nil
	}
	a := newAsk(toBeat)
	if err := l.do(ctx, a); err != nil || a.err != nil {
		return nil // it shows in a moment whether the line lives
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	door.proved = max(door.proved, a.sent)
	return nil
}

// enterInner makes a claim that is not a request's: its number is above those of all requests.
func (s *Store) enterInner(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inner++
	c.ref.Acq = 1<<63 + s.inner
	s.claims[c.ref.Acq] = c
}

// sleep pauses between tries. Its error is that nothing was asked when ctx ended.
func (s *Store) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.context.Done():
		return s.closedFault()
	case <-ctx.Done():
		return &driver.HeldError{}
	}
}

// doorWatch hears of a wait at the door: it is for the slots' holders that the request waits.
type doorWatch struct {
	to    driver.Watcher
	s     *Store
	slots []slot
}

func (d *doorWatch) Queued(*driver.Holder) {
	ctx, cancel := context.WithTimeout(d.s.context, time.Second)
	defer cancel()
	report, err := d.s.who(ctx, d.slots[0].lock)
	if err == nil && len(report.Holders) > 0 {
		d.to.Queued(&report.Holders[0])
		return
	}
	d.to.Queued(nil)
}

// Lost does not matter: the slot is tried on another line.
func (d *doorWatch) Lost(error) {}

// Asked does not come: a door is never listed.
func (d *doorWatch) Asked(string) {}
