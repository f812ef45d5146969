//go:build linux || darwin

package guardian

import (
	"time"

	"golang.org/x/sys/unix"
)

// Instant is a moment on the clock that wrapper and guardian share, in ns. It runs while the machine is suspended.
type Instant int64

// Now reads the clock. To turn the rest of a lease into an instant, read it first, and ask for the rest then: a suspend in
// between makes the instant too early, and never too late.
func Now() Instant {
	var at unix.Timespec
	if err := unix.ClockGettime(sharedClock, &at); err != nil {
		panic(err) // every system that this is built for has the clock
	}
	return Instant(at.Nano())
}

// Add gives the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub gives the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }
