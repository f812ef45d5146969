package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// more are the signals beside the usual ones that end a process which does nothing about them, and are sent by others.
func more() []os.Signal { return []os.Signal{unix.SIGVTALRM} }
