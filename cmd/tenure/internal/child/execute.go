//go:build linux || darwin

package child

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// standardPath is searched where PATH is not set, as the C library does it.
const standardPath = "/bin:/usr/bin"

// execute is execvp(3): a name with a slash is a file, any other is looked for along PATH, and a file that the kernel does
// not know how to run is a script for /bin/sh. It returns only with an error.
func execute(command, env []string) unix.Errno {
	name := command[0]
	if name == "" {
		return unix.ENOENT
	}
	if strings.Contains(name, "/") {
		return try(name, command, env)
	}
	path, set := os.LookupEnv("PATH")
	if !set {
		path = standardPath
	}
	failed := unix.ENOENT
	for _, dir := range strings.Split(path, ":") {
		if dir == "" {
			dir = "." // POSIX: an empty entry is the working directory
		}
		switch errno := try(dir+"/"+name, command, env); errno {
		case unix.ENOENT, unix.ENOTDIR, unix.ESTALE, unix.ENODEV, unix.ETIMEDOUT:
		case unix.EACCES:
			failed = unix.EACCES // another directory may have one that can be run
		default:
			return errno
		}
	}
	return failed
}

func try(file string, command, env []string) unix.Errno {
	errno := become(file, command, env)
	if errno == unix.ENOEXEC {
		return become("/bin/sh", append([]string{"sh", file}, command[1:]...), env)
	}
	return errno
}

func become(file string, command, env []string) unix.Errno {
	var errno unix.Errno
	if err := syscall.Exec(file, command, env); !errors.As(err, &errno) {
		return unix.EINVAL // an argument with a NUL, which no program was ever started with
	}
	return errno
}
