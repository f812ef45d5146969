package tenure

import (
	"errors"
	"fmt"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// The errors to compare with errors.Is. Those with facts are also types: [HeldError], [LostError], [DoneError],
// [StaleError].
var (
	// ErrHeld: somebody else has the name, or is about to: another caller of this process may be asking for it.
	ErrHeld = errors.New("held by somebody else")
	// ErrLost: the lease was lost before it was released. The work may have overlapped with a successor's.
	ErrLost = errors.New("the lease was lost")
	// ErrReleased: the lease was released already.
	ErrReleased = errors.New("the lease was released already")
	// ErrStale: a guard has seen a newer token, so the write was refused.
	ErrStale = errors.New("stale: a newer holder has written")
	// ErrDone: the name was already granted in this period ([Options.OncePer]).
	ErrDone = errors.New("already done in this period")
	// ErrClosed: the Locker or its store is closed.
	ErrClosed = driver.ErrClosed
	// ErrUnavailable: the store did not answer, or refused for a reason that may pass.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrUnknown: a request may have taken effect, but its answer is missing. Tenure cleans up behind it.
	ErrUnknown = errors.New("the outcome is unknown")
	// ErrAsked: somebody asked the holder to give the lease up, through the store. It is the cause within a [LostError].
	ErrAsked = errors.New("its holder was asked to give it up")
	// ErrMaxHold: the lease was held for as long as [Options.MaxHold] allows. It is the cause within a [LostError].
	ErrMaxHold = errors.New("it was held for as long as MaxHold allows")
	// ErrUnsupported: the store cannot do what was asked for.
	ErrUnsupported = driver.ErrUnsupported
	// ErrInvalid: an argument or option that can never be right. The text says what would be.
	ErrInvalid = errors.New("invalid")
)

// HeldError says who has a name. It matches [ErrHeld].
type HeldError struct {
	Name string
	// Holder is as far as is known; it may be all empty.
	Holder Holder
	// Gap says that [Options.MinHold] has not passed since Holder, if it is known, was granted the name.
	Gap bool
	// RetryAfter is the rest of that time; zero if it is not known when the name will be free.
	RetryAfter time.Duration
}

// Error says who has it, and since when.
func (e *HeldError) Error() string {
	if e.Gap {
		return fmt.Sprintf("%q was held a moment ago by %s; free in %v", e.Name, e.Holder, e.RetryAfter.Round(time.Millisecond))
	}
	return fmt.Sprintf("%q is held by %s", e.Name, e.Holder)
}

// Is matches ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// LostError says which lease was lost, and why. It matches [ErrLost] and whatever caused it.
type LostError struct {
	Name  string
	Token Token
	At    time.Time // from when on the lease was over, by this process's clock
	Cause error
}

// Error says which lease was lost, and why.
func (e *LostError) Error() string {
	return fmt.Sprintf("the lease of %q with token %d was lost: %v", e.Name, e.Token, e.Cause)
}

// Is matches ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap gives the cause.
func (e *LostError) Unwrap() error { return e.Cause }

// DoneError says when a name was granted in this period. It matches [ErrDone].
type DoneError struct {
	Name string
	Last time.Time // by the store's clock
	Next time.Time // the start of the next period
}

// Error says when it was done.
func (e *DoneError) Error() string {
	return fmt.Sprintf("%q was already done at %s in this period; the next begins at %s",
		e.Name, e.Last.Format(time.RFC3339), e.Next.Format(time.RFC3339))
}

// Is matches ErrDone.
func (e *DoneError) Is(target error) bool { return target == ErrDone }

// StaleError says that a guard refused a fence. It matches [ErrStale]. Never retry under the same token: stop, or
// acquire anew.
type StaleError struct {
	Fence  Fence
	Newest Token // the highest that the guard has seen for the name
}

// Error says both tokens, and what else may be the cause.
func (e *StaleError) Error() string {
	return fmt.Sprintf("stale: token %d of %q is older than %d, which the resource has seen: a newer holder has written "+
		"(or the locks were moved to another store without `tenure init --above %d`)", e.Fence.Token, e.Fence.Name, e.Newest, e.Newest)
}

// Is matches ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// Why a lease was lost. They are causes within a [LostError].
var (
	errDeadline = errors.New("no renewal was confirmed in time")
	errCut      = errors.New("the locker was closed before the work ended")
)

// outcome turns a driver's error of an acquisition into what callers see.
func outcome(name string, err error) error {
	var held *driver.HeldError
	var done *driver.DoneError
	var fault *driver.Fault
	switch {
	case errors.As(err, &held):
		return &HeldError{Name: name, Holder: held.Holder, Gap: held.Gap, RetryAfter: held.RetryAfter}
	case errors.As(err, &done):
		return &DoneError{Name: name, Last: done.Last, Next: done.Next}
	case errors.Is(err, ErrClosed):
		return fmt.Errorf("%q: %w", name, err)
	case errors.As(err, &fault) && fault.Kind == driver.Lasting:
		return fmt.Errorf("%q: %w", name, err)
	case errors.As(err, &fault) && fault.Kind == driver.Passing:
		return fmt.Errorf("%q: %w: %w", name, ErrUnavailable, err)
	}
	return fmt.Errorf("%q: %w: %w: %w", name, ErrUnavailable, ErrUnknown, err)
}
