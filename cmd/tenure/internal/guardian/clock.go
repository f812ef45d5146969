//go:build linux || darwin

package guardian

import (
	"time"

	"golang.org/x/sys/unix"
)

// instant is a moment on the clock that wrapper and guardian share, in ns. It runs while the machine is suspended.
type instant int64

func now() instant {
	var at unix.Timespec
	if err := unix.ClockGettime(sharedClock, &at); err != nil {
		panic(err) // every system that this is built for has the clock
	}
	return instant(at.Nano())
}

// at turns a moment of this process's own clock into one of the shared clock. The shared clock is read first, so the
// answer is never too late.
func at(when time.Time) instant {
	shared := now()
	return shared + instant(time.Until(when))
}
