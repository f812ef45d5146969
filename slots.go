package tenure

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/tenurelock/tenure/driver"
)

// A slot lease is an exclusive lease on one of n names, each with its own gate. Two more gates keep the callers of one
// group in order: the park, in which they wait first in first out and only the head talks to the store; and the quick
// gate, for one question without waiting at a time. A caller reserves the slots' gates that it asks for, so that nobody
// else in this process asks for the same, and lets go of those that it was not granted.
type slotGroup struct {
	s           *session
	key         string
	park, quick string // the gates' keys
	refs        int    // callers and holds; guarded by session.groupsMu

	mu     sync.Mutex
	parked *slotTurn
}

// slotTurn is the head of the park, once it has seen that no slot is free.
type slotTurn struct {
	locker *Locker
	wake   context.CancelFunc // ends its question to the store: a slot of this process is free, or was given to it
	freed  bool
	given  *Lease
}

func slotName(name string, number int) string { return name + "#" + strconv.Itoa(number) }

// group finds the slots of a key, and counts the caller.
func (s *session) group(key string) *slotGroup {
	s.groupsMu.Lock()
	defer s.groupsMu.Unlock()
	g := s.groups[key]
	if g == nil {
		g = &slotGroup{s: s, key: key, park: "park\x00" + key, quick: "quick\x00" + key} // no store's key has a NUL
		s.groups[key] = g
	}
	g.refs++
	return g
}

func (g *slotGroup) keep() {
	g.s.groupsMu.Lock()
	g.refs++
	g.s.groupsMu.Unlock()
}

func (g *slotGroup) drop() {
	g.s.groupsMu.Lock()
	defer g.s.groupsMu.Unlock()
	if g.refs--; g.refs == 0 {
		delete(g.s.groups, g.key)
	}
}

func (l *Locker) acquireSlot(ctx context.Context, name, key string, wait bool) (*Lease, error) {
	g := l.s.group(key)
	defer g.drop()
	slots, err := l.slotsOf(name)
	if err != nil {
		return nil, err
	}
	q := &question{name: name, key: key, group: g}
	if !wait {
		return l.trySlot(ctx, q, slots)
	}
	if _, err := l.enter(ctx, name, g.park, true); err != nil {
		return nil, err
	}
	defer l.s.queue.Exit(g.park, false, nil)
	lease, err := l.askQuick(ctx, q, slots, false)
	switch {
	case err == nil, !worthwhile(err), errors.Is(err, ctx.Err()):
		return lease, err
	case ctx.Err() != nil:
		return nil, l.gaveUp(ctx, name, err)
	}
	return l.askParked(ctx, q, slots)
}

// trySlot asks once. It waits for its turn at the quick gate, which is short, and within the bound of a try.
func (l *Locker) trySlot(ctx context.Context, q *question, slots []driver.Slot) (*Lease, error) {
	if q.group.isParked() {
		return nil, l.heldHere(q.name, slots[0].Key)
	}
	q.by = soon(bound(l.terms.TTL))
	bounded := newAskContext(ctx, l.group, q.by)
	defer bounded.end()
	lease, err := l.askQuick(bounded, q, slots, true)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, tooLate(q.name, err)
	}
	return lease, err
}

func (l *Locker) slotsOf(name string) ([]driver.Slot, error) {
	slots := make([]driver.Slot, l.slots)
	for i := range slots {
		slots[i].Name = slotName(name, i+1)
		key, err := l.s.store.Key(slots[i].Name)
		if err != nil {
			return nil, invalid("the name %q: %w", slots[i].Name, err)
		}
		slots[i].Key = key
	}
	return slots, nil
}

// askQuick asks once for any slot that this process has not. A try does not pass callers that are parked.
func (l *Locker) askQuick(ctx context.Context, q *question, slots []driver.Slot, try bool) (*Lease, error) {
	if _, err := l.enter(ctx, q.name, q.group.quick, true); err != nil {
		return nil, err
	}
	defer l.s.queue.Exit(q.group.quick, false, nil)
	if try && q.group.isParked() {
		return nil, l.heldHere(q.name, slots[0].Key)
	}
	free := l.reserve(slots)
	if len(free) == 0 {
		return nil, l.heldHere(q.name, slots[0].Key)
	}
	once := *q
	lease, err := l.askAny(ctx, &once, free)
	return lease, err
}

// askAny asks for any of the slots whose gates the caller is in. It leaves them, but for the one that is granted.
func (l *Locker) askAny(ctx context.Context, q *question, free []driver.Slot) (*Lease, error) {
	q.slots = free
	q.leave = func(*hold) { l.letGo(free, "") }
	lease, err := l.ask(ctx, q)
	if err == nil {
		l.letGo(free, lease.hold.req.Key)
	}
	return lease, err
}

// askParked waits for any slot: in the store's queue, and for those of this process that are given back meanwhile.
func (l *Locker) askParked(ctx context.Context, q *question, slots []driver.Slot) (*Lease, error) {
	q.group.watch(slots)
	defer q.group.unwatch(slots)
	for {
		asking, wake := context.WithCancel(ctx)
		turn := q.group.parkAs(l, wake)
		free := l.reserve(slots)
		var lease *Lease
		var err error
		if len(free) > 0 {
			waiting := *q
			waiting.wait = true
			lease, err = l.askAny(asking, &waiting, free)
		} else {
			err = l.heldHere(q.name, slots[0].Key)
			if held := (*HeldError)(nil); errors.As(err, &held) {
				l.noteWait(q.name, &held.Holder)
			}
			select {
			case <-asking.Done():
			case <-l.group.closing.Done():
			}
		}
		given, freed := q.group.unpark(turn)
		wake()
		switch {
		case given != nil && lease != nil: // both in the same instant: one goes on to the next
			l.group.keep()
			_ = lease.Release(ctx)
			return given, nil
		case given != nil:
			return given, nil
		case lease != nil:
			return lease, nil
		case ctx.Err() != nil, l.group.closed():
			return nil, l.gaveUp(ctx, q.name, inTheWayOf(err))
		case freed && worthwhile(err):
			continue
		}
		return nil, err
	}
}

// inTheWayOf gives what kept the head of a park waiting, without the end of its own question.
func inTheWayOf(err error) error {
	var held *HeldError
	if errors.As(err, &held) {
		return held
	}
	return err
}

// reserve goes into the gates of the slots that this process neither has nor asks for, in an order of its own, so that
// many processes do not all begin with the first.
func (l *Locker) reserve(slots []driver.Slot) (free []driver.Slot) {
	first := rand.IntN(len(slots))
	for i := range slots {
		if slot := slots[(first+i)%len(slots)]; l.s.queue.Try(slot.Key, false) {
			free = append(free, slot)
		}
	}
	return free
}

// letGo leaves the gates of the slots, but for one.
func (l *Locker) letGo(slots []driver.Slot, but string) {
	for _, slot := range slots {
		if slot.Key != but {
			l.s.leave(slot.Key, false, nil)
		}
	}
}

// watch has the head of the park hear of every gate of the slots that is left, by whomever.
func (g *slotGroup) watch(slots []driver.Slot) {
	g.s.groupsMu.Lock()
	defer g.s.groupsMu.Unlock()
	g.s.parking.Add(1)
	for _, slot := range slots {
		g.s.parked[slot.Key] = g
	}
}

func (g *slotGroup) unwatch(slots []driver.Slot) {
	g.s.groupsMu.Lock()
	defer g.s.groupsMu.Unlock()
	g.s.parking.Add(-1)
	for _, slot := range slots {
		delete(g.s.parked, slot.Key)
	}
}

func (g *slotGroup) isParked() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.parked != nil
}

func (g *slotGroup) parkAs(l *Locker, wake context.CancelFunc) *slotTurn {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parked = &slotTurn{locker: l, wake: wake}
	return g.parked
}

func (g *slotGroup) unpark(turn *slotTurn) (given *Lease, freed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parked = nil
	return turn.given, turn.freed
}

// hand gives a hold to the head of the park, if take makes a lease for it. The hold's mu is held; wake must be called
// without it, since ending a context may run code of the program's own.
func (g *slotGroup) hand(name string, take func(*Locker) *Lease) (handed bool, wake func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	turn := g.parked
	if turn == nil || turn.given != nil || !turn.locker.wantsSlot(name) {
		return false, nil
	}
	if turn.given = take(turn.locker); turn.given == nil {
		return false, nil
	}
	return true, turn.wake
}

// wantsSlot says whether a slot's number is one of those that the Locker asks for.
func (l *Locker) wantsSlot(slot string) bool {
	for i := len(slot) - 1; i >= 0; i-- {
		if slot[i] == '#' {
			number, err := strconv.Atoi(slot[i+1:])
			return err == nil && number <= l.slots
		}
	}
	return false
}

// free tells the head of the park that a slot of this process can be asked for.
func (g *slotGroup) free() {
	g.mu.Lock()
	turn := g.parked
	if turn != nil {
		turn.freed = true
	}
	g.mu.Unlock()
	if turn != nil {
		turn.wake()
	}
}
