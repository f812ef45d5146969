// Package clock tells the time on which trust rests: nanoseconds that also pass while the machine is suspended.
//
// Go's monotonic clock stands still during a suspend on Linux and macOS, so a lease counted on it alone would still
// look good after a night in a closed laptop. The system clock that goes on (CLOCK_BOOTTIME) costs a system call, which
// is too much for every look at a lease. So the time that the machine spent suspended is remembered, and asked anew in
// two cases: when the wall clock moved against the monotonic one (both come from one cheap reading, and a resume moves
// the wall clock), and when [Look] is called, which whoever keeps leases does every [Interval].
package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Instant is a moment in nanoseconds since an arbitrary start of this process, suspended time included. It means
// nothing in another process. Zero is no moment; under the fake time of testing/synctest an instant may be negative.
type Instant int64

// Add gives the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub gives the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Before says whether i is earlier than j.
func (i Instant) Before(j Instant) bool { return i < j }

// IsZero says whether i is no moment.
func (i Instant) IsZero() bool { return i == 0 }

// Interval is how often [Look] wants to be called while leases live: it bounds how late a suspend is noticed by
// somebody who only waits for a context to end.
const Interval = 25 * time.Millisecond

// step is the smallest move of the wall clock against the monotonic one that is worth a system call.
const step = int64(time.Millisecond)

// start is an hour before the process's first reading, so that no real instant is zero.
var start = time.Now().Add(-time.Hour)

// One machine has one clock, so what is known of it is kept once a process.
var (
	asleep atomic.Int64 // how long the machine was suspended, as last asked, in ns
	offset atomic.Int64 // wall clock minus monotonic clock at the last asking
	asking sync.Mutex
)

// Now reads the clock.
func Now() Instant {
	mono, wall := read()
	if moved := wall - mono - offset.Load(); moved > step || moved < -step {
		ask()
	}
	return Instant(mono + asleep.Load())
}

// Time gives an instant as a time of the time package, without reading a clock.
func (i Instant) Time() time.Time { return start.Add(time.Duration(i) - time.Duration(asleep.Load())) }

// Look asks the system how long it was suspended, whatever the wall clock says.
func Look() { ask() }

func read() (mono, wall int64) {
	now := time.Now()
	return int64(now.Sub(start)), now.UnixNano()
}

func ask() {
	asking.Lock()
	defer asking.Unlock()
	mono, wall := read()
	if slept := suspended(wall - mono); slept-asleep.Load() > step {
		asleep.Store(slept) // it only rises: no suspend is ever undone
	}
	offset.Store(wall - mono)
}

// Suspend moves the clock as a suspend of that length would. It is for tests: nothing can take it back.
func Suspend(d time.Duration) { asleep.Add(int64(d)) }
