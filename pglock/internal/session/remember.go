package session

import (
	"context"
	"fmt"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// run is the last grant of a name that was remembered. The zero run is none.
type run struct {
	at     time.Time
	holder driver.Holder
}

// readRun reads the columns at, host, pid, program and note.
func readRun(values [][]byte) run {
	return run{wire.ParseTime(values[0]), driver.Holder{
		Host: string(values[1]), PID: int(wire.ParseInt(values[2])), Program: string(values[3]), Note: string(values[4]),
	}}
}

// lastRun asks for the last grant that was remembered, and the server's time.
func (s *Store) lastRun(ctx context.Context, name string) (last run, now time.Time, err error) {
	err = s.query(ctx, "last_run", [][]byte{[]byte(name)}, func(values [][]byte) {
		now, last = wire.ParseTime(values[0]), readRun(values[1:])
	})
	return last, now, err
}

// refuses says why a grant at now comes too early after the last run: a *DoneError or a *HeldError. A run of the next
// period, which a clock set back leaves behind, counts as well; one of a clock that once was far ahead does not.
func (r run) refuses(req *driver.Request, now time.Time) error {
	if r.at.IsZero() {
		return nil
	}
	period := req.OncePer.Microseconds()
	if ahead := r.at.UnixMicro()/max(period, 1) - now.UnixMicro()/max(period, 1); period > 0 && (ahead == 0 || ahead == 1) {
		return &driver.DoneError{Last: r.at, Next: time.UnixMicro((r.at.UnixMicro()/period + 1) * period)}
	}
	if left := r.at.Add(req.Gap).Sub(now); left > 0 && left <= 2*req.Gap {
		return &driver.HeldError{Gap: true, RetryAfter: left, Holder: r.holder}
	}
	return nil
}

// tooEarly refuses a request with OncePer or Gap before anything is locked for it. What it lets through is looked at again
// under the lock.
func (s *Store) tooEarly(ctx context.Context, req *driver.Request) error {
	last, now, err := s.lastRun(ctx, req.Name)
	if err != nil {
		return err
	}
	return last.refuses(req, now)
}

// remember notes a grant for OncePer and Gap, or refuses it, when it comes too early after all, and gives the lock back. It
// is asked of the line that has the lock, so nobody else can be remembered in between.
func (s *Store) remember(ctx context.Context, c *claim, req *driver.Request) error {
	s.mu.Lock()
	l := c.line
	s.mu.Unlock()
	holder := c.described()
	var allowed bool
	var last run
	var now time.Time
	_, err := l.query(ctx, "ran",
		[][]byte{
			[]byte(req.Name), wire.Int8(req.OncePer.Microseconds()), wire.Int8(req.Gap.Microseconds()), []byte("local"),
			[]byte(holder.Host), wire.Int8(int64(holder.PID)), []byte(holder.Program), []byte(holder.Note),
		},
		func(values [][]byte) {
			allowed, now, last = wire.ParseBool(values[0]), wire.ParseTime(values[1]), readRun(values[2:])
		})
	switch {
	case err != nil:
		return unknown(0, fmt.Errorf("remember the grant: %w", err))
	case allowed:
		return nil
	}
	refusal := last.refuses(req, now)
	if refusal == nil {
		refusal = passing(fmt.Errorf("the last run of %q changed meanwhile", req.Name))
	}
	if err := s.Release(ctx, c.ref); err != nil {
		return unknown(0, err)
	}
	return refusal
}
