package guardian

import "golang.org/x/sys/unix"

// sharedClock runs on while a Mac sleeps (clock_gettime(3)).
const sharedClock = unix.CLOCK_MONOTONIC
