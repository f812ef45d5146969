package driver

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"
)

// Info is what a store says of itself.
type Info struct {
	// Kind is the kind of store, in a word: "directory", "postgres", "redis".
	Kind string
	// Address is the store for people to read, without credentials.
	Address string
	// Session is this session's id: random, never a host's name or a process id, which repeat.
	Session string
	// TTL is the default of Options.TTL. With FixedTTL no other is possible, since it belongs to the session.
	TTL      time.Duration
	FixedTTL bool
	// Valid is how long a proof under some terms is good for at most, if that is less than the TTL: the Proof.Valid that
	// Acquire and Renew will give. Nil: it is the TTL.
	Valid func(Terms) time.Duration
	// ListsAfter is how long after a grant Inspect of another session, and a refusal, may not know all of its holder yet, while
	// it is renewed: until then it is told by host, process and program at best. Zero: they know at once.
	ListsAfter time.Duration
	// Features is what the store can do beside exclusive grants.
	Features Features
	// Guarantees is what its word is worth.
	Guarantees Guarantees
}

// Validity is how long a proof is good for under some terms.
func (i Info) Validity(terms Terms) time.Duration {
	if i.Valid == nil {
		return terms.TTL
	}
	return min(i.Valid(terms), terms.TTL)
}

// Features is a set of what a store can do beside exclusive grants.
type Features uint8

const (
	// CanShare: Request.Mode may be Shared.
	CanShare Features = 1 << iota
	// CanSlots: Request.Slots may be used.
	CanSlots
	// CanRemember: Request.OncePer and Request.Gap may be used.
	CanRemember
)

// Has says whether all of want are there.
func (f Features) Has(want Features) bool { return f&want == want }

// NewSession makes a random session id of 128 bits.
func NewSession() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails: crypto/rand ends the program instead
	return hex.EncodeToString(id[:])
}

// Local is where the root package keeps what all Lockers over one Store share: the queue inside the process, the
// renewals, the clean-ups. A driver embeds it and has nothing else to do with it.
type Local struct {
	once  sync.Once
	value any
}

// Attached gives the Local itself, so that embedding it implements that method of [Store].
func (l *Local) Attached() *Local { return l }

// Value gives the one value that make made at the first call.
func (l *Local) Value(make func() any) any {
	l.once.Do(func() { l.value = make() })
	return l.value
}
