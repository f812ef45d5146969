package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// From linux/time.h.
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

// suspended is CLOCK_BOOTTIME less CLOCK_MONOTONIC. Both are read raw, so the answer is right under a fake time too.
// A thread that is moved aside between the readings would see a gap that is none, so the tightest of a few counts.
func suspended(int64) int64 {
	slept, width := asleep.Load(), int64(time.Hour)
	for range 4 {
		before, ok1 := raw(clockMonotonic)
		boot, ok2 := raw(clockBoottime)
		after, ok3 := raw(clockMonotonic)
		if !ok1 || !ok2 || !ok3 {
			return slept // a sandbox that forbids the call: nothing is known of suspends
		}
		if after-before < width {
			slept, width = boot-after, after-before
		}
		if width < step/10 {
			break
		}
	}
	return max(slept, 0)
}

func raw(id uintptr) (int64, bool) {
	var at syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano(), errno == 0
}
