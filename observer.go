package tenure

import "time"

// Observer hears what happens to leases: for metrics, traces, tests. Every function may be nil, and one that is nil
// costs nothing. They are called without locks held, from the goroutine in which the thing happened, so they should be
// quick, and they may not call Release or Acquire of the same name and wait for it.
type Observer struct {
	// Wait: a caller began to wait, behind holder if that is known.
	Wait func(name string, holder *Holder)
	// Grant: the store granted a lease, after the caller had waited so long.
	Grant func(lease *Lease, waited time.Duration)
	// Handoff: a lease was passed on inside the process, without asking the store.
	Handoff func(lease *Lease, waited time.Duration)
	// Renew: a renewal was answered, or failed with err; a failed one is tried again until the deadline.
	Renew func(lease *Lease, err error)
	// Lost: a lease was lost. Err is a *LostError.
	Lost func(lease *Lease, err error)
	// Released: a lease was given back after it was held so long. A non-nil err is what Release returned.
	Released func(lease *Lease, held time.Duration, err error)
}
