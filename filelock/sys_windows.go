package filelock

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"github.com/tenurelock/tenure/driver"
)

var (
	kernel32      = syscall.NewLazyDLL("kernel32.dll")
	procLock      = kernel32.NewProc("LockFileEx")
	procUnlock    = kernel32.NewProc("UnlockFileEx")
	procDriveType = kernel32.NewProc("GetDriveTypeW")
)

// From winbase.h, winerror.h and fileapi.h.
const (
	lockFailImmediately = 1
	lockExclusive       = 2
	driveRemote         = 4
	errorHandleDiskFull = syscall.Errno(39)
	errorDiskFull       = syscall.Errno(112)
	errorLockViolation  = syscall.Errno(33)
	errorNotLocked      = syscall.Errno(158)
	errorHandleEOF      = syscall.Errno(38)
)

// file is an open file.
type file struct{ handle syscall.Handle }

// identity tells files apart, whatever path leads to them.
type identity struct{ device, inode uint64 }

// openFile opens a file. It does not share the right to delete: a lock file in use can be neither deleted nor replaced.
func openFile(path string, how access) (file, error) {
	rights, disposition := uint32(syscall.GENERIC_READ|syscall.GENERIC_WRITE), uint32(syscall.OPEN_EXISTING)
	switch how {
	case readOnly:
		rights = syscall.GENERIC_READ
	case create:
		disposition = syscall.OPEN_ALWAYS
	}
	return openWith(path, rights, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE, disposition)
}

func openWith(path string, rights, share, disposition uint32) (file, error) {
	text, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return file{}, err
	}
	const attributes = syscall.FILE_ATTRIBUTE_NORMAL | syscall.FILE_FLAG_OPEN_REPARSE_POINT
	handle, err := syscall.CreateFile(text, rights, share, nil, disposition, attributes, 0)
	return file{handle}, err
}

// lockedByte is far behind the record, since a lock here also keeps others from reading what it covers.
func lockedByte() *syscall.Overlapped { return &syscall.Overlapped{OffsetHigh: 1 << 30} }

// lock tries to lock the file in this mode. It must not be locked yet.
func (f file) lock(mode driver.Mode) (bool, error) {
	flags := uintptr(lockFailImmediately | lockExclusive)
	if mode == driver.Shared {
		flags = lockFailImmediately
	}
	done, _, err := procLock.Call(uintptr(f.handle), flags, 0, 1, 0, uintptr(unsafe.Pointer(lockedByte())))
	if done != 0 {
		return true, nil
	}
	if errors.Is(err, errorLockViolation) || errors.Is(err, syscall.ERROR_IO_PENDING) {
		return false, nil
	}
	return false, err
}

// upgrade makes a shared lock exclusive, if nobody shares it. Where it fails the file may have any lock or none.
func (f file) upgrade() (bool, error) {
	if err := f.unlock(); err != nil {
		return false, err
	}
	return f.lock(driver.Exclusive)
}

// retake says that a lock is still there: no other process has a duplicate of the handle, through which it could go.
func (f file) retake(driver.Mode) (bool, error) { return true, nil }

// locked says so too.
func (f file) locked() (held, known bool) { return true, true }

func (f file) unlock() error {
	done, _, err := procUnlock.Call(uintptr(f.handle), 0, 1, 0, uintptr(unsafe.Pointer(lockedByte())))
	if done != 0 || errors.Is(err, errorNotLocked) {
		return nil
	}
	return err
}

func (f file) close() error { return syscall.CloseHandle(f.handle) }

func (f file) readAt(buf []byte, at int64) (int, error) {
	var n uint32
	err := syscall.ReadFile(f.handle, buf, &n, &syscall.Overlapped{Offset: uint32(at)})
	if errors.Is(err, errorHandleEOF) {
		err = nil
	}
	return int(n), err
}

func (f file) writeAt(buf []byte, at int64) (int, error) {
	var n uint32
	err := syscall.WriteFile(f.handle, buf, &n, &syscall.Overlapped{Offset: uint32(at)})
	return int(n), err
}

func (f file) truncate(size int64) error { return syscall.Ftruncate(f.handle, size) }

// identify gives the open file's identity, and whether it is a regular file.
func (f file) identify() (identity, bool, error) {
	var info syscall.ByHandleFileInformation
	err := syscall.GetFileInformationByHandle(f.handle, &info)
	const other = syscall.FILE_ATTRIBUTE_DIRECTORY | syscall.FILE_ATTRIBUTE_REPARSE_POINT
	index := uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)
	return identity{uint64(info.VolumeSerialNumber), index}, info.FileAttributes&other == 0, err
}

// identifyPath gives the identity of what the path leads to now.
func identifyPath(path string) (identity, error) {
	const shareAll = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE
	f, err := openWith(path, 0, shareAll, syscall.OPEN_EXISTING)
	if err != nil {
		return identity{}, err
	}
	id, _, err := f.identify()
	return id, errors.Join(err, f.close())
}

// gone says whether an error of identifyPath means that nothing is there any more.
func gone(err error) bool {
	return errors.Is(err, syscall.ERROR_FILE_NOT_FOUND) || errors.Is(err, syscall.ERROR_PATH_NOT_FOUND)
}

// full says whether an error means that the disk is full.
func full(err error) bool {
	return errors.Is(err, errorDiskFull) || errors.Is(err, errorHandleDiskFull) || errors.Is(err, syscall.ENOSPC)
}

// writable leaves it to the first Acquire: rights here cannot be asked for in one call.
func writable(string) error { return nil }

// fileSystem names the network file system that a directory is on; "" for a local one.
func fileSystem(dir string) (string, error) {
	volume := filepath.VolumeName(dir)
	if strings.HasPrefix(volume, `\\`) && !strings.HasPrefix(volume, `\\?\`) && !strings.HasPrefix(volume, `\\.\`) {
		return "a network share", nil
	}
	root, err := syscall.UTF16PtrFromString(volume + `\`)
	if err != nil {
		return "", err
	}
	if kind, _, _ := procDriveType.Call(uintptr(unsafe.Pointer(root))); kind == driveRemote {
		return "a network drive", nil
	}
	return "", nil
}
