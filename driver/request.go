package driver

import "time"

// Mode is how a name is wanted.
type Mode uint8

const (
	// Exclusive: one holder, nobody beside it.
	Exclusive Mode = iota
	// Shared: readers beside each other, but not beside an exclusive holder. A waiting exclusive request holds back
	// later shared ones, or a stream of readers would starve it.
	Shared
)

// String gives "exclusive" or "shared".
func (m Mode) String() string {
	if m == Shared {
		return "shared"
	}
	return "exclusive"
}

// Request asks for one grant. It belongs to the caller; a driver keeps what it needs by copying it.
type Request struct {
	Ref
	// Slots, if not empty, are the names of which any one is wanted, each exclusive and each numbered on its own. Name and
	// Key are then those of the group, under which a store may queue, and which is a lock of its own beside its slots. The
	// grant says which slot it was; from then on Renew, Release and Abandon name that slot.
	Slots []Slot
	// Wait asks to be queued where the name is held.
	Wait bool
	// Terms are the lease's.
	Terms Terms
	// Holder describes the caller, for others to read. Nil: nothing is said.
	Holder *Holder
	// OncePer, if positive, refuses with a *DoneError when a request that also asked OncePer or Gap was granted in the
	// current period of that length (counted from 1970 on the store's clock), and has the store remember this grant.
	OncePer time.Duration
	// Gap, if positive, refuses with a *HeldError until that long after the last grant that was remembered so, by the
	// store's clock, and has the store remember this grant.
	Gap time.Duration
	// Watch hears of what happens to the request later. Never nil.
	Watch Watcher
}

// Ref names one acquisition: the owner id that the store keeps is the session's id with Acq. Acq is never zero, and
// never used twice in a session.
type Ref struct {
	Name string
	Key  string
	Acq  uint64
	Mode Mode
}

// Slot is one of several equal names: "pool#3" of the group "pool".
type Slot struct {
	Name string
	Key  string
}

// Terms are the conditions of a lease.
type Terms struct {
	// TTL is how long the store keeps a grant that nobody renews.
	TTL time.Duration
	// Drift is the share of the TTL by which clocks may run apart, as a fraction.
	Drift float64
	// Margin is kept free for scheduling, between the end of trust and the end of the grant.
	Margin time.Duration
}

// Watcher hears of a request and its grant. Its methods do not block, and call nothing of the driver. A driver may call
// them from any goroutine, while it holds no lock that Acquire, Renew, Release or Abandon take.
type Watcher interface {
	// Queued says that the store has put the request in its queue, behind the holder if that is known.
	Queued(holder *Holder)
	// Lost says that the grant is gone, and why.
	Lost(cause error)
	// Asked says that somebody, described by text, asked the holder to give the grant up. It is still the session's: the
	// caller ends the work, and gives it back.
	Asked(by string)
}

// Holder describes who holds a name or waits for it.
type Holder struct {
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"` // the program's name only: arguments may hold secrets
	Note    string `json:"note,omitempty"`    // what the program says of itself
	// The rest is the store's, and empty in a Request. Of a foreign holder it may be unknown.
	Session string    `json:"session,omitempty"`
	Acq     uint64    `json:"acq,omitempty"`
	Mode    Mode      `json:"mode,omitempty"`
	Number  int64     `json:"number,omitempty"` // the grant's
	Since   time.Time `json:"since,omitzero"`   // of its grant, or of its waiting; by the store's clock
	Foreign bool      `json:"foreign,omitempty"`
}

// Report is what a store knows of one name. Of the name of a group of slots it has the waiters; the holders are under the
// slots' own names.
type Report struct {
	Holders []Holder // several only where they share
	Waiters []Holder // in order, where the store keeps one
	// LastRun is when the name was last granted to a request with OncePer or Gap, by the store's clock.
	LastRun time.Time
}
