//go:build linux || darwin

package guardian

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure/cmd/tenure/internal/self"
)

// held are the duplicates on which the grant depends.
type held []int

// drop closes them, which ends nothing that somebody else still has open.
func (h held) drop() { self.Close(h...) }

// end ends the grant although a stopped wrapper still has the same files and sockets open.
func (h held) end() {
	for _, fd := range h {
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) != nil {
			continue
		}
		switch stat.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			_ = unix.Flock(fd, unix.LOCK_UN) // it fails only where there is no lock
		case unix.S_IFSOCK:
			_ = unix.Shutdown(fd, unix.SHUT_RDWR) // it fails only where nobody is connected any more
		}
	}
	h.drop()
}

// rights reads the descriptors that came with a message. Those that came are ours to close, whatever the error.
func rights(oob []byte, flags int) (held, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	controls, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var all held
	for i := range controls {
		fds, err := unix.ParseUnixRights(&controls[i])
		if err != nil {
			return all, err
		}
		all = append(all, fds...)
	}
	for _, fd := range all {
		unix.CloseOnExec(fd)
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return all, fmt.Errorf("only %d descriptors arrived: the limit of open files is too low", len(all))
	}
	return all, nil
}
