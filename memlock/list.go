package memlock

import "iter"

// list links claims in the order of their coming, and finds one by its owner.
type list struct {
	head, tail *claim
	size       int
	index      map[owner]*claim // of a crowd only: most names have one holder and few waiters
}

// owner is who a claim belongs to. Owners are compared whole.
type owner struct {
	session *Store
	acq     uint64
}

// crowd is the length from which on a list has an index. It loses it again at half of that.
const crowd = 16

func (l *list) push(c *claim) {
	c.prev, c.next = l.tail, nil
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.next = c
	}
	l.tail = c
	switch l.size++; {
	case l.index != nil:
		l.index[c.owner] = c
	case l.size >= crowd:
		l.index = make(map[owner]*claim, 2*crowd)
		for c := l.head; c != nil; c = c.next {
			l.index[c.owner] = c
		}
	}
}

func (l *list) remove(c *claim) {
	if c.prev == nil {
		l.head = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.tail = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
	if l.size--; l.index != nil {
		if delete(l.index, c.owner); l.size <= crowd/2 {
			l.index = nil
		}
	}
}

// find gives the claim of an owner; nil if it has none here.
func (l *list) find(o owner) *claim {
	if l.index != nil {
		return l.index[o]
	}
	for c := l.head; c != nil; c = c.next {
		if c.owner == o {
			return c
		}
	}
	return nil
}

// all goes through the claims. The loop may remove the one it is given.
func (l *list) all() iter.Seq[*claim] {
	return func(yield func(*claim) bool) {
		for c := l.head; c != nil; {
			next := c.next
			if !yield(c) {
				return
			}
			c = next
		}
	}
}
