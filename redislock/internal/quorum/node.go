package quorum

import (
	"context"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Lock says which key is wanted, by whom.
type Lock struct {
	Key string
	// Owner is the key's value: one id for one acquisition, never used again.
	Owner string
	// About describes the owner for others to read.
	About string
	// TTL is how long a node keeps the key that nobody renews.
	TTL time.Duration
}

// Node is one of the independent servers. Its methods make one round trip and one atomic step each; none is sent again by
// itself, since the outcome of a lost answer is the quorum's to find out. They return when ctx ends at the latest.
//
// An error that is a [driver.Fault] of another kind than Unknown says that the request surely had no effect. After any other
// it may have had one, or may still.
type Node interface {
	// Acquire takes a key that is Free, or Ours already, for the TTL. The answer is Ours with a candidate, which the node keeps
	// as its last number: the greatest of last + 1, its clock in µs, and above. Otherwise Held or Resting, and nothing changed.
	//
	// Above is zero in an acquisition, and the lease's number when a node that came back empty is topped up.
	Acquire(ctx context.Context, lock Lock, above int64) (Answer, error)
	// WriteBack raises the node's last number to number where the key is Ours, and has been so since before the node restarted
	// last: a node that rests answers Resting. Otherwise it changes nothing, and says who has the key.
	WriteBack(ctx context.Context, lock Lock, number int64) (Answer, error)
	// Renew sets the expiry of a key that is Ours to the TTL. It never creates one.
	Renew(ctx context.Context, lock Lock) (Answer, error)
	// Release removes a key that was Ours, which it answers.
	Release(ctx context.Context, lock Lock) (Answer, error)
}

// Standing is what a node says of a key.
type Standing uint8

const (
	// Free: nobody has it.
	Free Standing = iota
	// Ours: this owner has it; of Release: had it until now.
	Ours
	// Held: somebody else has it.
	Held
	// Resting: the node has restarted, or lost its data, less than the largest TTL of any client ago. What it granted before
	// may still be trusted, so it grants nothing.
	Resting
)

// Answer is what a node says.
type Answer struct {
	Standing Standing
	// Candidate is a number for the grant, of Acquire that was answered Ours.
	Candidate int64
	// Holder is who has a key that is Held.
	Holder driver.Holder
}
