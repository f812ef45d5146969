package terminal

import (
	"os/signal"

	"golang.org/x/sys/unix"
)

// Quietly does what a process in the background may do to its terminal only if it ignores SIGTTOU: changing the
// foreground, and writing where "stty tostop" is set. Otherwise it would be stopped.
func Quietly(do func()) {
	signal.Ignore(unix.SIGTTOU)
	defer signal.Reset(unix.SIGTTOU)
	do()
}
