//go:build unix

package session

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/tenurelock/tenure/driver"
)

var _ driver.Descriptors = (*Store)(nil)

// Descriptors duplicates the socket of the line that holds a grant: the server frees the lock when the last of them closes,
// or is shut down.
func (s *Store) Descriptors(ref driver.Ref) (driver.DescriptorSet, error) {
	s.mu.Lock()
	c := s.claims[ref.Acq]
	if c == nil || c.state != held {
		s.mu.Unlock()
		return driver.DescriptorSet{}, driver.ErrNotOurs
	}
	socket := c.line.socket
	s.mu.Unlock()
	raw, ok := socket.(syscall.Conn)
	if !ok {
		return driver.DescriptorSet{}, fmt.Errorf("the connection is a %T, which has no descriptor: DialFunc must return a network connection", socket)
	}
	access, err := raw.SyscallConn()
	if err != nil {
		return driver.DescriptorSet{}, err
	}
	// Inside Control, so that the live socket stays open meanwhile, and in its mode.
	var duplicate uintptr
	var errno syscall.Errno
	err = access.Control(func(fd uintptr) {
		duplicate, _, errno = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil && errno != 0 {
		err = errno
	}
	if err != nil {
		return driver.DescriptorSet{}, errors.Join(driver.ErrNotOurs, err) // the line has just been closed
	}
	return driver.DescriptorSet{FDs: []int{int(duplicate)}}, nil
}
