package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

const era = 24 * 365 * 20 * time.Hour // a period whose end no test meets

func oncePer(d time.Duration) func(*driver.Request) {
	return func(r *driver.Request) { r.OncePer = d }
}

func gap(d time.Duration) func(*driver.Request) {
	return func(r *driver.Request) { r.Gap = d }
}

// TestH61OncePer: a job is done once a period, across sessions, and is refused before it waits in vain.
func TestH61OncePer(t *testing.T) {
	dir := t.TempDir()
	s, other := session(t, dir), session(t, dir)
	req := want("a", oncePer(era))
	grant := must(t, s, req)
	done := func(s *Store, req *driver.Request) {
		t.Helper()
		_, err := s.Acquire(t.Context(), req)
		var done *driver.DoneError
		if !errors.As(err, &done) || !done.Last.Equal(grant.Since.Round(0)) || !done.Next.After(time.Now()) {
			t.Fatal(err)
		}
	}
	done(other, want("a", oncePer(era), wait)) // though it is held
	release(t, s, req)
	done(other, want("a", oncePer(era)))
	report, err := other.Inspect(t.Context(), "a")
	if err != nil || !report.LastRun.Equal(grant.Since.Round(0)) {
		t.Fatal(report, err)
	}
	plain := want("a")
	must(t, other, plain) // only who asks for it is refused
	done(s, want("a", oncePer(era), wait))
	release(t, other, plain)
	must(t, other, want("a", oncePer(time.Nanosecond)))
}

// TestOncePerWhileWaiting: whoever waits hears that another did it, while that one still holds.
func TestOncePerWhileWaiting(t *testing.T) {
	s := session(t, t.TempDir())
	first := want("a")
	must(t, s, first)
	one, two := want("a", oncePer(era), wait), want("a", oncePer(era), wait)
	oneWaits, twoWaits := async(t, t.Context(), s, one), async(t, t.Context(), s, two)
	release(t, s, first)
	loser := twoWaits
	select {
	case <-oneWaits.done:
	case <-twoWaits.done:
		loser = oneWaits
	}
	loser.ended(t)
	var done *driver.DoneError
	if !errors.As(loser.err, &done) {
		t.Fatal(loser.err)
	}
}

func TestGap(t *testing.T) {
	s := session(t, t.TempDir())
	req := want("a", gap(time.Hour))
	grant := must(t, s, req)
	release(t, s, req)
	_, err := s.Acquire(t.Context(), want("a", gap(time.Hour), wait))
	var refusal *driver.HeldError
	if !errors.As(err, &refusal) || !refusal.Gap || refusal.Holder.Number != grant.Number ||
		refusal.RetryAfter > time.Hour || refusal.RetryAfter < 59*time.Minute {
		t.Fatal(err)
	}
	must(t, s, want("a", gap(time.Nanosecond)))
}

func TestRememberedRules(t *testing.T) {
	now := time.Unix(1_700_000_000, 500)
	for _, c := range []struct {
		what    string
		ran     time.Duration // from now
		oncePer time.Duration
		gap     time.Duration
		refused bool
		retry   time.Duration
	}{
		{"this period", -time.Second, time.Hour, 0, true, 0},
		{"the last period", -2 * time.Hour, time.Hour, 0, false, 0},
		{"the next period: the clock was set back", time.Hour, time.Hour, 0, true, 0},
		{"far ahead: the clock was wrong", 3 * time.Hour, time.Hour, 0, false, 0},
		{"the gap has not passed", -time.Second, 0, time.Minute, true, 59 * time.Second},
		{"the gap has passed", -time.Minute, 0, time.Minute, false, 0},
		{"the clock was set back a little", time.Second, 0, time.Minute, true, time.Minute},
		{"the clock was wrong", time.Hour, 0, time.Minute, false, 0},
	} {
		a := &ask{req: &driver.Request{OncePer: c.oncePer, Gap: c.gap}}
		err := a.remembered(record{ran: now.Add(c.ran).UnixNano()}, now)
		var refusal *driver.HeldError
		if (err != nil) != c.refused || errors.As(err, &refusal) && refusal.RetryAfter != c.retry {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if period(time.Unix(-1, 0), time.Minute) != -1 || period(time.Unix(60, 0), time.Minute) != 1 {
		t.Error("periods do not count from 1970")
	}
}

func TestGapIsOfTheName(t *testing.T) {
	dir := t.TempDir()
	s := session(t, dir)
	req := want("a", gap(time.Hour))
	must(t, s, req)
	release(t, s, req)
	if err := os.Rename(filepath.Join(dir, "a.lock"), filepath.Join(dir, "b.lock")); err != nil {
		t.Fatal(err)
	}
	must(t, s, want("b", gap(time.Hour)))
}
