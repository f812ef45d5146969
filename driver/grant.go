package driver

import (
	"time"

	"github.com/tenurelock/tenure/internal/clock"
)

// Instant is a moment on this process's own clock, which also runs while the machine is suspended.
type Instant = clock.Instant

// Now reads the clock on which trust is counted. Call it before the first byte of a request is written.
func Now() Instant { return clock.Now() }

// MaxNumber is the largest grant number: a token has eight more bits and stays positive.
const MaxNumber = 1<<55 - 1

// Grant is a store's decision that this session holds a name.
type Grant struct {
	// Number rises with every grant of the name, and is between 1 and MaxNumber. It is drawn after the grant, so that
	// the order of the numbers is the order of the grants.
	Number int64
	// Proof is from when the grant may be trusted.
	Proof Proof
	// Slot is the index in Request.Slots of the name that was granted.
	Slot int
	// Since is when it was granted, by the store's clock.
	Since time.Time
}

// Proof says that a grant was this session's when a request was sent: it is trusted until
// Sent + Valid·(1 − drift) − margin.
type Proof struct {
	// Sent is when the request that proved it was sent, read before its first byte was written. For a grant to a waiter
	// it is the last sending of a question that was answered "still waiting", at first the wait request itself: the
	// process may have slept with the grant in its socket.
	Sent Instant
	// Valid is how long the store keeps its word from then on: the TTL, or less where the store rests it on more.
	Valid time.Duration
}

// Renewal is one grant in a batch to be proved anew.
type Renewal struct {
	Ref
	Terms Terms
	// Proof and Err are the driver's answer.
	Proof Proof
	Err   error
}

// Removal is one owner in a batch to be cleaned up.
type Removal struct {
	Ref
	// Slots are those of the request, when it had some and it is not known which one was granted.
	Slots []Slot
	// Err is the driver's answer.
	Err error
}
