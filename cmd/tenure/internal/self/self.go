//go:build linux || darwin

// Package self starts this program again in a hidden role, which its name (argv[0]) tells it.
package self

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The hidden roles.
const (
	Guardian = "tenure-guardian"
	Command  = "tenure-command"
)

// Role is the hidden role in which this process was started; empty for none.
func Role() string {
	if len(os.Args) > 0 {
		if name := filepath.Base(os.Args[0]); name == Guardian || name == Command {
			return name
		}
	}
	return ""
}

// Start starts this program in a role. Its first three descriptors are std, and those in keep have the same numbers there,
// whether or not they are close-on-exec here. So no number is taken away from what this process inherited, and the program
// that the role may become gets all that it would have got without us.
func Start(role string, args []string, std [3]int, keep []int, attr syscall.ProcAttr) (pid int, err error) {
	path := "/proc/self/exe" // this very file, even if another was put in its place
	if runtime.GOOS != "linux" {
		if path, err = os.Executable(); err != nil {
			return 0, err
		}
	}
	inherited, err := Inherited()
	if err != nil {
		return 0, err
	}
	attr.Files = make([]uintptr, slices.Max(append(keep, 2))+1)
	for fd := range attr.Files {
		attr.Files[fd] = ^uintptr(0) // closed: it is one of our own
		switch {
		case fd < len(std):
			attr.Files[fd] = uintptr(std[fd])
		case slices.Contains(keep, fd), slices.Contains(inherited, fd):
			attr.Files[fd] = uintptr(fd)
		}
	}
	return syscall.ForkExec(path, append([]string{role}, args...), &attr)
}

// Inherited lists the descriptors beyond the first three that this process was given by its parent: nothing that Go opens
// survives an exec.
func Inherited() (fds []int, err error) {
	names, err := list("/proc/self/fd")
	if err != nil {
		if names, err = list("/dev/fd"); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd < 3 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			fds = append(fds, fd)
		}
	}
	return fds, nil
}

func list(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return f.Readdirnames(-1)
}

// Close closes descriptors. The numbers are free after any answer, and nothing is lost of what only this process can read.
func Close(fds ...int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// Pipe makes a pipe that no other program inherits by accident.
func Pipe() (read, write int, err error) {
	var fds [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(fds[:]); err != nil {
		return 0, 0, os.NewSyscallError("pipe", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}

// SocketPair makes two connected stream sockets that no other program inherits by accident.
func SocketPair() (ours, theirs int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, 0, os.NewSyscallError("socketpair", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}
