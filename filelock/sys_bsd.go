//go:build darwin || freebsd

package filelock

import (
	"strings"
	"syscall"
)

// mntLocal is MNT_LOCAL of sys/mount.h: the file system is stored on this machine.
const mntLocal = 0x1000

// fileSystem names the network file system or FUSE that a directory is on; "" for a local one.
func fileSystem(dir string) (string, error) {
	var st syscall.Statfs_t
	if err := again(func() error { return syscall.Statfs(dir, &st) }); err != nil {
		return "", err
	}
	var kind strings.Builder
	for _, c := range st.Fstypename {
		if c == 0 {
			break
		}
		kind.WriteByte(byte(c))
	}
	return mounted(kind.String(), uint64(st.Flags)), nil
}

// mounted judges a file system by its type's name and its mount flags. FUSE may call itself local.
func mounted(kind string, flags uint64) string {
	if flags&mntLocal == 0 || strings.Contains(kind, "fuse") {
		return "the network or FUSE file system " + kind
	}
	return ""
}

// locked says that nothing is known: these systems do not tell which open file has a lock.
func (f file) locked() (held, known bool) { return false, false }
