package tenure

import "time"

// Observer hears what happens to leases: for metrics, traces, tests. Every function may be nil, and one that is nil
// costs nothing. No locks are held when they are called. Grant, Handoff and Released are called by the goroutine that
// acquires or releases, so they should be quick; Wait, Unavailable, Renew and Lost come in order from another goroutine, and perhaps a
// moment after the thing itself: a lease's context does not wait for them. They should not panic.
type Observer struct {
	// Wait: a caller began to wait, behind holder if that is known.
	Wait func(name string, holder *Holder)
	// Unavailable: the store did not answer a caller that waits, which asks again; told for the first failure in a row.
	Unavailable func(name string, err error)
	// Grant: the store granted a lease, after the caller had waited so long.
	Grant func(lease *Lease, waited time.Duration)
	// Handoff: a lease was passed on inside the process, without asking the store.
	Handoff func(lease *Lease, waited time.Duration)
	// Renew: a renewal was answered, or failed with err; a failed one is tried again until the deadline.
	Renew func(lease *Lease, err error)
	// Lost: a lease was lost. Err is a *LostError.
	Lost func(lease *Lease, err error)
	// Released: a lease was given back after it was held so long; not one that had been lost before. A non-nil err is what
	// Release returned.
	Released func(lease *Lease, held time.Duration, err error)
}
