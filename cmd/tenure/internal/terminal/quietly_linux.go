package terminal

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Quietly does what a process in the background may do to its terminal only if it has SIGTTOU blocked: changing the
// foreground, and writing where "stty tostop" is set. Otherwise it would be stopped. Ignoring the signal would do too, but
// what is ignored stays so in the command.
func Quietly(do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var block, was unix.Sigset_t
	bits := 8 * int(unsafe.Sizeof(block.Val[0]))
	block.Val[(int(unix.SIGTTOU)-1)/bits] |= 1 << ((int(unix.SIGTTOU) - 1) % bits)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &block, &was) == nil {
		defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &was, nil) }()
	}
	do()
}
