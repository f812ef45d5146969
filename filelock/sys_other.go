//go:build !linux && !darwin && !freebsd && !windows

package filelock

import (
	"errors"
	"syscall"

	"github.com/tenurelock/tenure/driver"
)

// On other systems the package builds, and Open says that it does not work there.
type (
	file     struct{}
	identity struct{}
)

func openFile(string, access) (file, error)     { return file{}, syscall.ENOSYS }
func identifyPath(string) (identity, error)     { return identity{}, syscall.ENOSYS }
func fileSystem(string) (string, error)         { return "", syscall.ENOSYS }
func writable(string) error                     { return syscall.ENOSYS }
func gone(error) bool                           { return false }
func full(err error) bool                       { return errors.Is(err, syscall.ENOSPC) }
func (file) lock(driver.Mode) (bool, error)     { return false, syscall.ENOSYS }
func (file) upgrade() (bool, error)             { return false, syscall.ENOSYS }
func (file) retake(driver.Mode) (bool, error)   { return false, syscall.ENOSYS }
func (file) locked() (held, known bool)         { return false, false }
func (file) unlock() error                      { return syscall.ENOSYS }
func (file) close() error                       { return nil }
func (file) readAt([]byte, int64) (int, error)  { return 0, syscall.ENOSYS }
func (file) writeAt([]byte, int64) (int, error) { return 0, syscall.ENOSYS }
func (file) truncate(int64) error               { return syscall.ENOSYS }
func (file) identify() (identity, bool, error)  { return identity{}, false, syscall.ENOSYS }
