package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/tenurelock/tenure/driver"
)

func asFault(kind driver.Kind, err error) error { return &driver.Fault{Kind: kind, Err: err} }

// lasting is a fault that somebody must mend; its words say how.
func lasting(format string, args ...any) error {
	return asFault(driver.Lasting, fmt.Errorf("filelock: "+format, args...))
}

// failed is the fault of a system call. Nothing on a local disk is ever "unknown": a call that failed had no effect.
func failed(doing, path string, err error) error {
	kind, advice := judge(err)
	if advice != "" {
		advice = "; " + advice
	}
	return asFault(kind, fmt.Errorf("filelock: %s %s: %w%s", doing, path, err, advice))
}

// judge sorts errors by whether they pass by themselves, and says what would be right.
func judge(err error) (driver.Kind, string) {
	if full(err) {
		return driver.Passing, "free some space there"
	}
	for _, known := range []struct {
		err    error
		advice string
	}{
		{fs.ErrPermission, "this user needs write permission for the directory and for its lock files"},
		{syscall.EROFS, "choose a directory on a file system that is mounted for writing"},
		{syscall.ENOTDIR, "the path must be a directory, and so must all that lead to it"},
		{fs.ErrNotExist, "the directory is not there and cannot be made, or was removed; choose one that can"},
		{syscall.EISDIR, "a directory is in the place of the lock file; move it away"},
		{syscall.ELOOP, "a symbolic link is in the place of the lock file; move it away"},
		{syscall.EMLINK, "a symbolic link is in the place of the lock file; move it away"}, // FreeBSD's word for ELOOP
		{syscall.ENXIO, "something else is in the place of the lock file; move it away"},
		{syscall.ENAMETOOLONG, "choose a shorter path for the directory"},
		{syscall.EFBIG, "raise the limit of the size of files (ulimit -f) to at least 4096 bytes"},
		{syscall.EOPNOTSUPP, "this file system has no flock; choose another directory"},
		{syscall.ENOTSUP, "this file system has no flock; choose another directory"},
		{syscall.ENOSYS, "this system has no flock; choose another store"},
		{syscall.EINVAL, "this file system has no flock; choose another directory"},
	} {
		if errors.Is(err, known.err) {
			return driver.Lasting, known.advice
		}
	}
	switch {
	case errors.Is(err, syscall.EMFILE):
		return driver.Passing, "this process has too many open files; raise its limit (ulimit -n)"
	case errors.Is(err, syscall.ENFILE):
		return driver.Passing, "the system has too many open files"
	case errors.Is(err, syscall.ENOLCK):
		return driver.Passing, "the system has too many locks"
	}
	return driver.Passing, ""
}

func closedFault() error {
	return asFault(driver.Lasting, fmt.Errorf("filelock: %w", driver.ErrClosed))
}

// ended says that a context ended before what was wanted was done. That is certain, for a grant too: the kernel's answer
// always reaches the asker.
func ended(ctx context.Context, doing, name string) error {
	cause := context.Cause(ctx)
	kind := driver.Passing
	if errors.Is(cause, driver.ErrClosed) {
		kind = driver.Lasting
	}
	return asFault(kind, fmt.Errorf("filelock: %s %q: %w", doing, name, cause))
}
