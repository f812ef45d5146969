package proof

import (
	"fmt"
	"syscall"
	"unsafe"
)

const clockBoottime = 7 // from linux/time.h

func machineNow() Instant {
	var at syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&at)), 0)
	if errno != 0 {
		panic(fmt.Sprintf("CLOCK_BOOTTIME cannot be read: %v", errno))
	}
	return Instant(at.Nano())
}
