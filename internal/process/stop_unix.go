//go:build unix

package process

import (
	"errors"
	"fmt"
	"syscall"
)

// CanStop says whether a process can be stopped and continued here.
const CanStop = true

// Stop stops a child of this process, and returns once it stands: the signal alone returns before that, and until then the
// child may finish a system call and be granted what it waited for.
func Stop(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop %d: %w", pid, err)
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("wait until %d stands: %w", pid, err)
		case status.Stopped():
			return nil
		default:
			return fmt.Errorf("%d ended before it could be stopped", pid)
		}
	}
}

// Continue lets a stopped process go on.
func Continue(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }
