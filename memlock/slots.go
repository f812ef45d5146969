package memlock

import "slices"

// slotting is a key's part in groups of slots: as the name of a group, where those wait who want any of its slots, and
// as a slot, which knows the groups in which somebody waits for it. A slot that comes free is so offered to whoever
// has waited longest, also where groups overlap or somebody wants this one slot by its name.
type slotting struct {
	waiters list       // of a group
	groups  []interest // of a slot
}

// interest is a group in which so many wait for a slot.
type interest struct {
	group *place
	count int
}

// firstFor is who has waited longest in this group for a slot.
func (s *slotting) firstFor(slot *place) *claim {
	for c := s.waiters.head; c != nil; c = c.next {
		if c.wait.indexOf(slot) >= 0 {
			return c
		}
	}
	return nil
}

// join puts a claim into the queue of a group.
func (t *turn) join(group *place, c *claim) {
	group.slotting().waiters.push(c)
	t.settle(group)
	for _, slot := range c.wait.slots {
		slot.slotting().change(group, 1)
		t.settle(slot)
	}
}

// quit takes a claim out of the queue of its group. What it waited for is served afterwards, see serveFor.
func (t *turn) quit(c *claim) {
	group := c.wait.place
	group.slots.waiters.remove(c)
	for _, slot := range c.wait.slots {
		slot.slots.change(group, -1)
		slot.unslot()
		t.settle(slot)
	}
	group.unslot()
	t.settle(group)
}

func (s *slotting) change(group *place, by int) {
	i := slices.IndexFunc(s.groups, func(in interest) bool { return in.group == group })
	if i < 0 {
		s.groups = append(s.groups, interest{group, by})
		return
	}
	if s.groups[i].count += by; s.groups[i].count == 0 {
		s.groups = slices.Delete(s.groups, i, i+1)
	}
}

func (p *place) slotting() *slotting {
	if p.slots == nil {
		p.slots = new(slotting)
	}
	return p.slots
}

// unslot forgets a part that has nothing left in it.
func (p *place) unslot() {
	if s := p.slots; s != nil && s.waiters.head == nil && len(s.groups) == 0 {
		p.slots = nil
	}
}
