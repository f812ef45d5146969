package proof

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Instant is a moment in nanoseconds on the clock of a history.
type Instant int64

// Never is when an operation returned whose answer nobody has seen.
const Never = Instant(math.MaxInt64)

// Clock gives the present moment. Histories that are to be merged must be taken with one clock.
type Clock func() Instant

// ProcessClock counts from its making on, with the clock on which trust is counted. It follows fake time.
func ProcessClock() Clock {
	start := driver.Now()
	return func() Instant { return Instant(driver.Now().Sub(start)) }
}

// MachineClock is one clock for all processes of this machine, less base. It runs on while the machine is suspended, and
// does not follow fake time.
func MachineClock(base Instant) Clock {
	return func() Instant { return machineNow() - base }
}

// Rising makes a clock on which no two readings are equal, so that what happens at one moment of fake time is still told
// apart: a reading that returned before another began is the lower one.
func Rising(clock Clock) Clock {
	var last atomic.Int64
	return func() Instant {
		for {
			was := last.Load()
			next := max(int64(clock()), was+1)
			if last.CompareAndSwap(was, next) {
				return Instant(next)
			}
		}
	}
}

// instantOf turns a moment that is still to come into an instant, and errs on the early side: the clock is read before
// and the time that remains after.
func instantOf(clock Clock, moment func() time.Time) Instant {
	now := clock()
	at := moment()
	return now + Instant(time.Until(at))
}
