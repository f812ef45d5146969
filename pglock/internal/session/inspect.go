package session

import (
	"context"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// Inspect tells who holds a name and who waits for it.
func (s *Store) Inspect(ctx context.Context, name string) (driver.Report, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return driver.Report{}, s.closedFault()
	}
	k, err := s.Key(name)
	if err != nil {
		return driver.Report{}, lasting(err)
	}
	wanted, err := lockOf(k, driver.Exclusive)
	if err != nil {
		return driver.Report{}, lasting(err)
	}
	report, err := s.who(ctx, wanted)
	if err != nil {
		return report, err
	}
	last, _, err := s.lastRun(ctx, name)
	report.LastRun = last.at
	return report, err
}

// who tells who holds a lock and who waits for it, as the server sees it. What it does not know of this session's own, the
// session does.
func (s *Store) who(ctx context.Context, wanted lock) (report driver.Report, err error) {
	class, object, form := wanted.shown()
	err = s.query(ctx, "who", [][]byte{wire.Int8(class), wire.Int8(object), wire.Int8(form)}, func(values [][]byte) {
		granted := wire.ParseBool(values[0])
		for _, h := range s.holders(wanted, granted, values) {
			if granted {
				report.Holders = append(report.Holders, h)
			} else {
				report.Waiters = append(report.Waiters, h)
			}
		}
	})
	return report, err
}

// holders reads one row of who.sql. Readers of one session are one row there.
func (s *Store) holders(wanted lock, granted bool, values [][]byte) []driver.Holder {
	backend := wire.ParseInt(values[2])
	shared := wire.ParseBool(values[1])
	if own := s.own(wanted, shared, granted, backend); len(own) > 0 {
		return own
	}
	h, ours := ParseApplicationName(string(values[3]))
	if !ours {
		h = driver.Holder{Foreign: true, Program: string(values[3])}
	}
	if shared {
		h.Mode = driver.Shared
	}
	if !granted {
		h.Since = wire.ParseTime(values[4])
	}
	if values[5] != nil {
		h = driver.Holder{
			Session: string(values[5]), Acq: uint64(wire.ParseInt(values[6])), Number: wire.ParseInt(values[7]), Since: wire.ParseTime(values[8]),
			Host: string(values[9]), PID: int(wire.ParseInt(values[10])), Program: string(values[11]), Note: string(values[12]), Mode: h.Mode,
		}
	}
	return []driver.Holder{h}
}

// own tells what this session knows of a lock of its own.
func (s *Store) own(wanted lock, shared, granted bool, backend int64) (found []driver.Holder) {
	if shared {
		wanted.form |= sharing
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.claims {
		if c.line == nil || c.line.backend.pid != backend {
			continue
		}
		switch {
		case granted && c.state == held && c.lock == wanted, !granted && c.state == asking && c.line.extra:
			h := c.described()
			h.Session, h.Acq, h.Mode, h.Number, h.Since = s.info.Session, c.ref.Acq, c.ref.Mode, c.number, time.UnixMicro(c.since)
			found = append(found, h)
		}
	}
	return found
}
