package driver

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotOurs says that the store has answered, and this owner does not have the name.
	ErrNotOurs = errors.New("the store says that this owner does not hold the name")
	// ErrClosed is wrapped by the lasting fault of a closed store.
	ErrClosed = errors.New("closed")
	// ErrUnsupported is wrapped by the lasting fault of a store that lacks what was asked for.
	ErrUnsupported = errors.New("not supported by this store")
)

// Kind sorts faults by what follows from them.
type Kind uint8

const (
	// Unknown: the request may have taken effect, or may still. It is cleaned up, then tried again.
	Unknown Kind = iota
	// Passing: the request surely had no effect, and trying again may help.
	Passing
	// Lasting: the request surely had no effect, and somebody must mend something first.
	Lasting
)

// Fault is an error of the store or of the way to it.
type Fault struct {
	Kind Kind
	// Sent, of an Unknown one, is when the request was sent whose answer is missing: it may run until a TTL later. Zero:
	// the store did answer (it had queued the request), and one clean-up is enough.
	Sent Instant
	Err  error
}

// Error gives the error behind the fault.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap gives the error behind the fault.
func (f *Fault) Unwrap() error { return f.Err }

// Unsupported is the lasting fault of a store that lacks something.
func Unsupported(what string) error {
	return &Fault{Kind: Lasting, Err: fmt.Errorf("%s: %w", what, ErrUnsupported)}
}

// HeldError says that the name is not free.
type HeldError struct {
	// Holder is who holds it, as far as the store knows.
	Holder Holder
	// RetryAfter is when it pays to ask again; zero leaves it to the caller. Of a Gap it is the rest of that.
	RetryAfter time.Duration
	// Gap says that nobody holds it: a Request.Gap has not passed since Holder was granted.
	Gap bool
}

// Error says who holds it.
func (e *HeldError) Error() string { return "held by " + e.Holder.String() }

// DoneError says that the name was already granted in this period ([Request.OncePer]).
type DoneError struct {
	Last time.Time // when, by the store's clock
	Next time.Time // when the next period begins
}

// Error says when it was done.
func (e *DoneError) Error() string {
	return fmt.Sprintf("already done at %s, again from %s", e.Last.Format(time.RFC3339), e.Next.Format(time.RFC3339))
}
