package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// The signals that a program may use for itself; the C library keeps the two below.
const firstRealTime, lastRealTime = 34, 64

// more are the signals beside the usual ones that end a process which does nothing about them, and are sent by others.
func more() []os.Signal {
	signals := []os.Signal{unix.SIGVTALRM, unix.SIGIO, unix.SIGPWR}
	for number := firstRealTime; number <= lastRealTime; number++ {
		signals = append(signals, unix.Signal(number))
	}
	return signals
}
