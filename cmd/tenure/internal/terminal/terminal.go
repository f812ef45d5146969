//go:build linux || darwin

package terminal

import "golang.org/x/sys/unix"

// Terminal is the controlling terminal of our session. A nil Terminal is none: nobody is in its foreground.
type Terminal struct {
	fd  int
	own int // our process group
}

// Open opens the controlling terminal; nil if there is none.
func Open() *Terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	return &Terminal{fd, unix.Getpgrp()}
}

// Close closes it.
func (t *Terminal) Close() {
	if t != nil {
		_ = unix.Close(t.fd)
	}
}

// Foreground is the process group in the foreground; 0 if that is not known.
func (t *Terminal) Foreground() int {
	if t == nil {
		return 0
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// Ours says whether our own group is in the foreground.
func (t *Terminal) Ours() bool { return t != nil && t.Foreground() == t.own }

// Lend puts another group into the foreground.
func (t *Terminal) Lend(group int) error { return t.put(group) }

// TakeBack puts our own group into the foreground.
func (t *Terminal) TakeBack() error { return t.put(t.own) }

func (t *Terminal) put(group int) (err error) {
	Quietly(func() { err = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) })
	return err
}
