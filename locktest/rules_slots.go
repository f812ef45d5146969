package locktest

import (
	"context"
	"fmt"

	"github.com/tenurelock/tenure/driver"
)

var slotting = needs{features: driver.CanSlots}

var slotRules = []Rule{
	{Name: "slots/count", Says: "Of n slots, n are held at once, each once, and one more is refused.", needs: slotting, check: checkSlotCount},
	{Name: "slots/index", Says: "The grant says which slot it was, and that slot's name is the one that is held.", needs: slotting, check: checkSlotIndex},
	{Name: "slots/any", Says: "Who waits for a slot is granted any that comes free.", needs: slotting, check: checkAnySlot},
	{Name: "slots/numbers", Says: "The numbers of each slot rise.", needs: slotting, check: checkSlotNumbers},
	{Name: "slots/abandon", Says: "Abandoning an acquisition of which the slot is unknown frees whichever it was.", needs: slotting, check: checkSlotAbandon},
	{Name: "slots/gave-up", Says: "A waiter for slots that gave up strands none of them.", needs: slotting, check: checkSlotGhost},
}

// slotsOf wants any of n slots of a group.
func (t *trial) slotsOf(s *session, group string, n int) option {
	return func(r *driver.Request) {
		r.Slots = nil
		for i := range n {
			name := fmt.Sprintf("%s#%d", group, i+1)
			key, err := s.Key(name)
			t.no(err, "the key of %q", name)
			r.Slots = append(r.Slots, driver.Slot{Name: name, Key: key})
		}
	}
}

func checkSlotCount(t *trial) {
	const n = 4
	group := t.name("pool")
	sessions := []*session{t.open(), t.open(), t.open()}
	taken := make(map[int]*claim)
	for i := range n {
		s := sessions[i%3]
		c := s.take(group, t.slotsOf(s, group, n))
		t.want(taken[c.grant.Slot] == nil, "slot %d was granted twice", c.grant.Slot)
		taken[c.grant.Slot] = c
	}
	for _, s := range sessions {
		s.refused(group, t.slotsOf(s, group, n))
	}
	for i := range n {
		c := taken[i]
		t.want(c != nil, "of %d slots %d was not granted", n, i)
		c.renews()
		c.releases()
		other := sessions[0]
		again := other.take(group, t.slotsOf(other, group, n))
		t.want(again.grant.Slot == i, "slot %d was granted while only %d was free", again.grant.Slot, i)
	}
}

func checkSlotIndex(t *trial) {
	const n = 3
	group := t.name("pool")
	a, b := t.open(), t.open()
	for range n {
		c := a.take(group, t.slotsOf(a, group, n))
		t.want(c.grant.Slot >= 0 && c.grant.Slot < n, "slot %d of %d was granted", c.grant.Slot, n)
		b.refused(c.req.Name) // the slot's name is held,
		c.renews()            // under this acquisition
	}
	free := t.name("other")
	slot := b.take(free + "#1") // and who holds a slot's name holds the slot
	c := a.take(free, t.slotsOf(a, free, 2))
	t.want(c.grant.Slot == 1, "slot %d was granted although its name was held", c.grant.Slot)
	slot.releases()
}

func checkAnySlot(t *trial) {
	const n = 3
	group := t.name("pool")
	a, b := t.open(), t.open()
	for i := range n {
		var held [n]*claim
		for range n {
			c := a.take(group, t.slotsOf(a, group, n))
			held[c.grant.Slot] = c
		}
		waiter := b.wait(t.ctx, group, t.slotsOf(b, group, n))
		t.want(!waiter.over(), "a waiter was granted a slot while all were held")
		held[i].releases()
		waiter.got(t.Prompt)
		t.want(waiter.grant.Slot == i, "slot %d was granted when %d came free", waiter.grant.Slot, i)
		waiter.releases()
		for j, c := range held {
			if j != i {
				c.releases()
			}
		}
	}
}

func checkSlotNumbers(t *trial) {
	const n = 2
	group := t.name("pool")
	sessions := []*session{t.open(), t.open()}
	var last [n]int64
	for i := range 10 {
		s := sessions[i%2]
		first := s.take(group, t.slotsOf(s, group, n))
		second := s.take(group, t.slotsOf(s, group, n))
		for _, c := range []*claim{first, second} {
			t.want(c.grant.Number > last[c.grant.Slot], "slot %d was numbered %d after %d", c.grant.Slot, c.grant.Number, last[c.grant.Slot])
			last[c.grant.Slot] = c.grant.Number
			c.releases()
		}
	}
}

func checkSlotAbandon(t *trial) {
	const n = 3
	group := t.name("pool")
	a, b := t.open(), t.open()
	for i := range n {
		var held [n]*claim
		var sent [n]driver.Request
		for range n {
			c := a.claim(group, t.slotsOf(a, group, n))
			asked := c.req
			c.ask(t.ctx)
			t.no(c.err, "acquire a free slot")
			held[c.grant.Slot], sent[c.grant.Slot] = c, asked
		}
		unknown := *held[i]
		unknown.req = sent[i] // as if its answer had been lost
		t.no(unknown.abandon(), "abandon an acquisition of an unknown slot")
		c := b.take(group, t.slotsOf(b, group, n))
		t.want(c.grant.Slot == i, "slot %d was free when the one in %d was abandoned", c.grant.Slot, i)
		c.releases()
		for j, c := range held {
			if j != i {
				c.releases()
			}
		}
	}
}

func checkSlotGhost(t *trial) {
	const n = 2
	group := t.name("pool")
	a, b, c := t.open(), t.open(), t.open()
	first, second := a.take(group, t.slotsOf(a, group, n)), a.take(group, t.slotsOf(a, group, n))
	ctx, cancel := context.WithCancel(t.ctx)
	gone := b.wait(ctx, group, t.slotsOf(b, group, n))
	cancel()
	gone.ends(t.Prompt, "its context was cancelled")
	gone.settle()
	first.releases()
	second.releases()
	for range n {
		c.takeSoon(t.Prompt, group, t.slotsOf(c, group, n))
	}
	b.refused(group, t.slotsOf(b, group, n))
}
