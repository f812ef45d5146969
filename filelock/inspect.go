package filelock

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Inspect tells who holds a name. The record says who was granted it last, and only the kernel whether that one still
// lives; so the file is locked for an instant where the record says "held", in a mode that its holder does not bear.
// Nobody takes that for a holder (see target.try). Where the record says "free" nobody is disturbed, and a lock of
// another program, which writes no record, is not seen. Of several readers only this session's own and the last are known.
func (s *Store) Inspect(ctx context.Context, name string) (driver.Report, error) {
	if ctx.Err() != nil {
		return driver.Report{}, ended(ctx, "inspecting", name)
	}
	path, err := s.path(name)
	if err != nil {
		return driver.Report{}, err
	}
	readers, err := s.readers(name)
	if err != nil {
		return driver.Report{}, err
	}
	file, err := openLock(path+lockSuffix, readOnly)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return driver.Report{}, nil
	case err != nil:
		return driver.Report{}, err
	}
	defer file.drop()
	d := newDoor(path)
	defer d.close()
	rec, held, err := observe(ctx, file, d)
	if err != nil {
		return driver.Report{}, err
	}
	var report driver.Report
	if rec = rec.under(name); rec.ran != 0 {
		report.LastRun = time.Unix(0, rec.ran)
	}
	if !held {
		return report, nil
	}
	last := rec.last()
	if rec.state == exclusive {
		report.Holders = []driver.Holder{last}
		return report, nil
	}
	report.Holders = readers
	if last.Session != s.session && (last.Session != "" || len(readers) == 0) {
		report.Holders = append(report.Holders, last)
	}
	return report, nil
}

// observe reads the record and looks whether the file is locked, until both belong together.
func observe(ctx context.Context, file *lockFile, d *door) (rec record, held bool, err error) {
	const rounds = 5
	for range rounds {
		rec, _, err = file.read(tries)
		if err != nil || rec.state == free {
			return rec, false, err
		}
		notHeld, err := touch(ctx, file, d, rec.state)
		if err != nil {
			return rec, false, err
		}
		after, _, err := file.read(tries)
		if err != nil {
			return rec, false, err
		}
		if rec, held = after, !notHeld; after.number == rec.number && after.state == rec.state {
			break
		}
	}
	return rec, held && rec.state != free, nil
}

// touch locks the file for an instant, behind the door if there is one, and says whether it could.
func touch(ctx context.Context, file *lockFile, d *door, found state) (bool, error) {
	if d.open(readOnly) == nil { // without a door there are no readers
		err := d.lock(ctx, readOnly, doorPatience)
		switch {
		case err == nil:
			defer d.unlock()
		case !errors.Is(err, fs.ErrNotExist): // deleted in this moment
			return false, err
		}
	}
	mode := driver.Shared
	if found == shared {
		mode = driver.Exclusive
	}
	taken, err := file.lock(mode)
	if err == nil && taken {
		err = file.unlock()
	}
	if err != nil {
		return false, failed("lock", file.path, err)
	}
	return taken, nil
}

// readers lists this session's own shared grants of a name, which the record may not have.
func (s *Store) readers(name string) (list []driver.Holder, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, closedFault()
	}
	for _, h := range s.holds {
		if h.name == name && h.ref.Mode == driver.Shared {
			list = append(list, h.holder)
		}
	}
	return list, nil
}
