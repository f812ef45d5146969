package session

import (
	"slices"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// claim is one acquisition, from its sending to its end.
type claim struct {
	ref    driver.Ref
	terms  driver.Terms
	slots  []driver.Slot
	keys   []string   // of what it asks for, or has
	sets   [][]string // of all that its request is for
	owner  string
	grace  time.Duration // zero: its crash is left to the TTL
	watch  driver.Watcher
	result chan result // of a wait; has room for one

	// Guarded by the session's mu.
	state claimState
	epoch uint64         // the chain of proofs that it rests on, if grace is not zero
	sound bool           // it rests on one
	base  driver.Instant // the last sending that the server's word counts from: a grant, a renewal, a question answered "queued"
	next  driver.Instant // of a wait: when to ask
	asked bool           // of a wait: a question is under way
	again bool           // of a wait: another one is wanted when that is answered
	told  bool           // of a lease: its holder has heard that it is lost
	early bool           // a push came before the answer that it is queued
	place int            // of a wait: how many were before it
	left  time.Duration  // of a wait: what was left to the holder
}

// index is which of the slots a lock is.
func (c *claim) index(lock string) int {
	return max(0, slices.IndexFunc(c.slots, func(s driver.Slot) bool { return s.Key == lock }))
}

// result is how a wait ends.
type result struct {
	grant driver.Grant
	err   error
}

type claimState uint8

const (
	asking claimState = iota
	waiting
	held
	over
)

// deliver ends a wait, with mu held.
func (c *claim) deliver(grant driver.Grant, err error) {
	if c.state != waiting {
		return
	}
	if c.state = held; err != nil {
		c.state = over
	}
	c.result <- result{grant, err}
}

// forget ends a claim.
func (s *Store) forget(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.state = over
	if s.claims[c.ref.Acq] == c {
		delete(s.claims, c.ref.Acq)
		s.unchain(c)
	}
}
