//go:build linux || darwin || freebsd

package filelock

import (
	"fmt"
	"syscall"

	"github.com/tenurelock/tenure/driver"
)

var _ driver.Descriptors = (*Store)(nil)

// Descriptors duplicates the lock file's descriptor. The lock belongs to what both stand for: it lasts until one of them
// unlocks it, or the last is closed.
func (s *Store) Descriptors(ref driver.Ref) (driver.DescriptorSet, error) {
	h, err := s.holding(ref.Acq)
	if err != nil {
		return driver.DescriptorSet{}, err
	}
	if h == nil {
		return driver.DescriptorSet{}, driver.ErrNotOurs
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return driver.DescriptorSet{}, driver.ErrNotOurs
	}
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(h.file.fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return driver.DescriptorSet{}, failed("duplicate the descriptor of", h.file.path, fmt.Errorf("fcntl: %w", errno))
	}
	return driver.DescriptorSet{FDs: []int{int(fd)}}, nil
}
