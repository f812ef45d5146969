package child

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From linux/wait.h and the siginfo of a child.
const (
	exited  = 1 // CLD_EXITED
	killed  = 2 // CLD_KILLED
	dumped  = 3 // CLD_DUMPED
	stopped = 5 // CLD_STOPPED
)

// watch tells of every stop and of the end, and leaves the ended process to Reap: while it is not reaped, the id of its
// group cannot become another's.
func (c *Child) watch() {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, c.group, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil, info.Code == exited, info.Code == killed, info.Code == dumped:
			c.events <- Event{Ended: true}
			return
		default:
			if sig := c.takeStop(); sig != 0 {
				c.events <- Event{Stopped: sig}
			}
		}
	}
}

// takeStop takes the news of a stop, so that the next look waits for other news. It gives zero if the process went on
// or ended in the meantime.
func (c *Child) takeStop() unix.Signal {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.group, &info, unix.WSTOPPED|unix.WNOHANG, nil)
	if err != nil || info.Code != stopped {
		return 0
	}
	return unix.Signal(siginfoStatus(&info))
}

// siginfoStatus reads si_status, which x/sys keeps to itself. In the kernel's layout three ints come first, then, aligned
// as a pointer is, si_pid, si_uid and si_status.
func siginfoStatus(info *unix.Siginfo) int32 {
	const align = unsafe.Sizeof(uintptr(0))
	const union = (3*4 + align - 1) / align * align
	return *(*int32)(unsafe.Add(unsafe.Pointer(info), union+2*4))
}
