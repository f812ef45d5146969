package terminal

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Suspend stops our own process group with a signal of the terminal's, as Ctrl-Z does it. It returns after the group was
// continued, or at once if the kernel did not stop it, because no shell is there to continue it; which of the two may take
// a moment to show. Restore is to be called then.
//
// Once Go was told to listen to such a signal, it never gives it back its default action (its Reset only drops it), so
// that is done here, and undone by restore.
func Suspend(by unix.Signal) (restore func()) {
	// All zero is the default action in every architecture's struct sigaction, of which none is larger.
	var standard, was [64]byte
	swapped := sigaction(by, &standard, &was)
	_ = unix.Kill(0, by) // our own group can always be signalled
	return func() {
		if swapped {
			sigaction(by, &was, nil)
		}
	}
}

func sigaction(sig unix.Signal, set, was *[64]byte) bool {
	_, _, errno := unix.Syscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(was)), sigsetSize, 0, 0)
	return errno == 0
}
