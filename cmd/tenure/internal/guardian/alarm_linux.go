package guardian

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// alarm waits for a socket or an instant. Its timer goes off right after a suspend that lasted beyond the instant.
type alarm struct{ timer int }

func newAlarm() (*alarm, error) {
	timer, err := unix.TimerfdCreate(sharedClock, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &alarm{timer}, nil
}

// wait returns when the socket can be read, or at the instant; zero is no instant. It may return early.
func (a *alarm) wait(socket int, until Instant) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(until))}
	if err := unix.TimerfdSettime(a.timer, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return os.NewSyscallError("timerfd_settime", err)
	}
	fds := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}, {Fd: int32(a.timer), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
		return os.NewSyscallError("poll", err)
	}
	return nil
}
