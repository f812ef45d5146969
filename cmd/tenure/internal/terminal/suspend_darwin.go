package terminal

import "golang.org/x/sys/unix"

// Suspend stops our own process group, as Ctrl-Z does it. It returns after the group was continued, or at once if the
// kernel did not stop it, because no shell is there to continue it; which of the two may take a moment to show. Restore is
// to be called then.
//
// Go never gives SIGTSTP back its default action once it was told to listen to it, so another signal that stops a job
// takes its place. A shell then says "stopped (tty output)".
func Suspend(by unix.Signal) (restore func()) {
	if by == unix.SIGTSTP {
		by = unix.SIGTTOU
	}
	_ = unix.Kill(0, by) // our own group can always be signalled
	return func() {}
}
