package filelock

import (
	"runtime"
	"syscall"
	"time"
)

// access is for what a file is opened.
type access int

const (
	readOnly  access = iota
	readWrite        // an existing file
	create           // made if missing
)

// lockFile is an open file of the directory.
type lockFile struct {
	file
	path string
	id   identity
}

// openLock opens a lock file, or a door. Nothing that exists is changed by it.
func openLock(path string, how access) (*lockFile, error) {
	f, err := openFile(path, how)
	if err != nil {
		return nil, failed("open", path, err)
	}
	id, regular, err := f.identify()
	if err == nil && regular {
		return &lockFile{file: f, path: path, id: id}, nil
	}
	_ = f.close() // nothing was written
	if err != nil {
		return nil, failed("look at", path, err)
	}
	return nil, foreignFault(path)
}

func foreignFault(path string) error {
	return lasting("%s is not a lock file of Tenure, and was left as it is; "+
		"move it away, or use another directory", path)
}

// current says whether the path still leads to this file. Where it does not, a lock on it excludes nobody any more.
func (l *lockFile) current() (bool, error) {
	id, err := identifyPath(l.path)
	switch {
	case err == nil:
		return id == l.id, nil
	case gone(err):
		return false, nil
	}
	return false, failed("look at", l.path, err)
}

// drop unlocks the file before it closes it, since a duplicate of the descriptor would keep the lock: a guardian's, or a
// child's between fork and exec. Neither call can fail in a way that matters: the lock is gone after either.
func (l *lockFile) drop() {
	_ = l.unlock()
	_ = l.close()
}

// tries without the lock: enough for a writer to finish its one call, or to be moved off the processor in its middle.
const tries = 12

// read gives the record, and the bytes it is from. Without the lock a record may be torn, and is read up to tries
// times; one that stays damaged counts as held by somebody unknown.
func (l *lockFile) read(tries int) (record, []byte, error) {
	buf := make([]byte, recordSize)
	for try := 1; ; try++ {
		n, err := l.readAt(buf, 0)
		if err != nil {
			return record{}, nil, failed("read", l.path, err)
		}
		rec, what := decode(buf[:n])
		switch {
		case what == foreign:
			return record{}, nil, foreignFault(l.path)
		case what == newer:
			return record{}, nil, lasting("%s is of a newer version of Tenure; use that version for this directory", l.path)
		case what == damaged && try < tries:
			if runtime.Gosched(); try > tries/2 {
				time.Sleep(100 * time.Microsecond)
			}
			continue
		}
		return rec, buf[:n], nil
	}
}

// write puts the record into the file, under the lock. After a failure the file is as before: old are its bytes then.
// Should even that fail, the record is damaged, and the next grant repairs it.
func (l *lockFile) write(rec record, old []byte) error {
	buf := rec.encode()
	n, err := l.writeAt(buf, 0)
	if err == nil && n < len(buf) {
		// The disk, or a limit, took only a part. Only the next call says why.
		var more int
		more, err = l.writeAt(buf[n:], int64(n))
		if err == nil && n+more < len(buf) {
			err = syscall.ENOSPC
		}
	}
	if err == nil {
		return nil
	}
	if len(old) == 0 {
		_ = l.truncate(0) // best effort, as said above
	} else if n > 0 {
		_, _ = l.writeAt(old, 0) // the same
	}
	return failed("write", l.path, err)
}
