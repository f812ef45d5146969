package child

import (
	"errors"

	"golang.org/x/sys/unix"
)

// watch tells of every stop and of the end. Looking without reaping is not reliable on macOS (golang.org/issue/19314), so
// here the id of the group is free from the end on, a moment before the guardian is dismissed.
func (c *Child) watch() {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(c.group, &status, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err == nil && status.Stopped():
			c.events <- Event{Stopped: status.StopSignal()}
		default:
			c.reaped = &status
			c.events <- Event{Ended: true}
			return
		}
	}
}
