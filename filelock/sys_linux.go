package filelock

import (
	"bytes"
	"strconv"
	"syscall"
)

// fileSystem names the network file system or FUSE that a directory is on; "" for a local one.
func fileSystem(dir string) (string, error) {
	var st syscall.Statfs_t
	err := again(func() error { return syscall.Statfs(dir, &st) })
	return remote(uint32(st.Type)), err // the field's type differs by architecture
}

// locked asks the kernel whether this open file is locked now, which changes nothing. Without /proc, or under a kernel
// that does not list locks there, nothing is known.
func (f file) locked() (held, known bool) {
	info, err := open("/proc/self/fdinfo/"+strconv.Itoa(f.fd), syscall.O_RDONLY|syscall.O_CLOEXEC)
	if err != nil {
		return false, false
	}
	buf := make([]byte, 1024)
	n, err := file{info}.readAt(buf, 0)
	_ = file{info}.close() // it was only read
	if err != nil {
		return false, false
	}
	_, lock, found := bytes.Cut(buf[:n], []byte("\nlock:"))
	return found && bytes.Contains(lock, []byte("FLOCK")), true
}
