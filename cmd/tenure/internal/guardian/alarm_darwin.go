package guardian

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// look is how often the clock is read: poll's own time-out stands still while a Mac sleeps.
const look = 25 * time.Millisecond

// alarm waits for a socket or an instant.
type alarm struct{}

func newAlarm() (*alarm, error) { return &alarm{}, nil }

// wait returns when the socket can be read, or at the instant; zero is no instant. It may return early.
func (*alarm) wait(socket int, until Instant) error {
	pause := -1
	if until != 0 {
		left := max(0, until.Sub(Now()))
		pause = int(min(left+time.Millisecond-1, look) / time.Millisecond)
	}
	fds := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, pause); err != nil && !errors.Is(err, unix.EINTR) {
		return os.NewSyscallError("poll", err)
	}
	return nil
}
