//go:build linux || darwin || freebsd

package filelock

import (
	"errors"
	"os"
	"syscall"

	"github.com/tenurelock/tenure/driver"
)

// file is an open file: a plain descriptor, which costs fewer system calls than an os.File.
type file struct{ fd int }

// identity tells files apart, whatever path leads to them.
type identity struct{ device, inode uint64 }

// openFile opens a file. It follows no symbolic link, so that nobody who may write the directory can have us write
// elsewhere, and does not hang on a FIFO.
func openFile(path string, how access) (file, error) {
	flags := syscall.O_RDWR
	if how == readOnly {
		flags = syscall.O_RDONLY
	}
	flags |= syscall.O_CLOEXEC | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	fd, err := open(path, flags)
	if how == create && errors.Is(err, syscall.ENOENT) {
		// Only now O_CREAT: with it, Linux refuses another user's existing file in a directory like /tmp.
		fd, err = open(path, flags|syscall.O_CREAT)
	}
	return file{fd}, err
}

func open(path string, flags int) (fd int, err error) {
	err = again(func() (err error) {
		fd, err = syscall.Open(path, flags, 0o666)
		return err
	})
	return fd, err
}

// again repeats a system call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// lock tries to lock the file in this mode. A lock that the file already has is changed, or lost in the attempt.
func (f file) lock(mode driver.Mode) (bool, error) {
	how := syscall.LOCK_EX
	if mode == driver.Shared {
		how = syscall.LOCK_SH
	}
	err := again(func() error { return syscall.Flock(f.fd, how|syscall.LOCK_NB) })
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// upgrade makes a shared lock exclusive, if nobody shares it. Where it fails the file may have any lock or none.
func (f file) upgrade() (bool, error) { return f.lock(driver.Exclusive) }

// retake locks a file that should be locked in this mode already, which then changes nothing. That it fails proves that
// the lock was lost to somebody.
func (f file) retake(mode driver.Mode) (bool, error) { return f.lock(mode) }

// unlock frees the lock, also where duplicates of the descriptor live on in other processes.
func (f file) unlock() error {
	return again(func() error { return syscall.Flock(f.fd, syscall.LOCK_UN) })
}

func (f file) close() error { return syscall.Close(f.fd) }

func (f file) readAt(buf []byte, at int64) (n int, err error) {
	err = again(func() (err error) {
		n, err = syscall.Pread(f.fd, buf, at)
		return err
	})
	return max(n, 0), err
}

func (f file) writeAt(buf []byte, at int64) (n int, err error) {
	err = again(func() (err error) {
		n, err = syscall.Pwrite(f.fd, buf, at)
		return err
	})
	return max(n, 0), err
}

func (f file) truncate(size int64) error {
	return again(func() error { return syscall.Ftruncate(f.fd, size) })
}

// identify gives the open file's identity, and whether it is a regular file.
func (f file) identify() (identity, bool, error) {
	var st syscall.Stat_t
	err := again(func() error { return syscall.Fstat(f.fd, &st) })
	return identity{uint64(st.Dev), uint64(st.Ino)}, st.Mode&syscall.S_IFMT == syscall.S_IFREG, err
}

// identifyPath gives the identity of what the path leads to now.
func identifyPath(path string) (identity, error) {
	var st syscall.Stat_t
	err := again(func() error { return syscall.Lstat(path, &st) })
	return identity{uint64(st.Dev), uint64(st.Ino)}, err
}

// gone says whether an error of identifyPath means that nothing is there any more.
func gone(err error) bool { return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) }

// full says whether an error means that the disk, or this user's share of it, is full.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// writable says why no files can be made in the directory. The system's quick answer goes by the real user, so a "no" is
// put to the test, for programs that run with more rights than that.
func writable(dir string) error {
	const writeAndSearch = 2 | 1
	if syscall.Access(dir, writeAndSearch) == nil {
		return nil
	}
	probe, err := os.CreateTemp(dir, "probe-*.tmp")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
