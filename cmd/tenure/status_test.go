//go:build linux || darwin

package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/cmd/tenure/internal/supervise"
	"github.com/tenurelock/tenure/driver"
)

func TestStatusOfARun(t *testing.T) {
	lost := &tenure.LostError{Name: "x", Cause: errors.New("gone")}
	down := fmt.Errorf("release: %w", tenure.ErrUnavailable)
	for _, c := range []struct {
		out      supervise.Outcome
		released error
		want     int
	}{
		{supervise.Outcome{Status: 0}, nil, 0},
		{supervise.Outcome{Status: 7}, nil, 7},
		{supervise.Outcome{Status: 7}, down, 7},
		{supervise.Outcome{Status: 0}, lost, statusLost},
		{supervise.Outcome{Status: 0, Reason: supervise.HeldTooLong}, nil, statusLost},
		{supervise.Outcome{Status: 0, Reason: supervise.RanOut}, nil, statusLost},
		{supervise.Outcome{Status: 137, Reason: supervise.LostLock, Lost: lost}, lost, statusLost},
		{supervise.Outcome{Status: 0, Reason: supervise.NoGuardian}, nil, statusInternal},
		{supervise.Outcome{Status: 0, Reason: supervise.NoGuardian}, lost, statusLost},
	} {
		p := &performance{settings: &settings{}}
		if got := p.status(c.out, c.released); got != c.want {
			t.Errorf("%+v, released: %v: %d, want %d", c.out, c.released, got, c.want)
		}
	}
}

func TestStatusOfAnError(t *testing.T) {
	fault := &driver.Fault{Kind: driver.Lasting, Err: errors.New("no permission")}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{usage("wrong"), 64},
		{fmt.Errorf("x: %w", tenure.ErrInvalid), 64},
		{driver.Unsupported("slots"), 64},
		{errors.New("unknown command"), 64},
		{fault, 69},
		{fmt.Errorf("x: %w: %w", tenure.ErrUnavailable, context.DeadlineExceeded), 69},
		{&tenure.HeldError{}, 75},
		{&tenure.DoneError{}, 75},
		{notStarted(supervise.Interrupted{Signal: unix.SIGTERM}), 143},
		{notStarted(&tenure.LostError{Cause: errors.New("gone")}), 79},
		{notStarted(unix.E2BIG), 126},
		{notStarted(errors.New("no more processes")), 70},
		{exit(75), 75},
		{exit(0), 0},
	} {
		if got, _ := judge(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

func TestNotAcquired(t *testing.T) {
	p := &performance{settings: &settings{conflict: 5, wait: seconds(time.Second)}}
	held := &tenure.HeldError{Name: "x"}
	waited := fmt.Errorf("%w: %w", context.DeadlineExceeded, held)
	down := fmt.Errorf("%w: %w", context.DeadlineExceeded, tenure.ErrUnavailable)
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{held, 5, `"x" is held by an unknown holder`},
		{waited, 5, `not acquired within 1s: "x" is held by an unknown holder`},
		{context.DeadlineExceeded, 5, `not acquired within 1s: context deadline exceeded`},
		{down, statusUnavailable, down.Error()},
	} {
		if status, text := judge(p.notAcquired(c.err)); status != c.status || text != c.text {
			t.Errorf("%v: %d, %q; want %d, %q", c.err, status, text, c.status, c.text)
		}
	}
}

func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Second, "30s": 30 * time.Second, "0.5": 500 * time.Millisecond, "500ms": 500 * time.Millisecond,
		"1h30m": 90 * time.Minute, "0": 0, ".25": 250 * time.Millisecond, "2.": 2 * time.Second, "007": 7 * time.Second,
		"0.000000001": 1,
	} {
		got, err := parseSeconds(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
		if again, err := parseSeconds(plain(want)); err != nil || again != want {
			t.Errorf("%v as %q: %v, %v", want, plain(want), again, err)
		}
	}
	for _, text := range []string{"", " ", "-1", "-1s", "soon", "1e3", "1..2", ".", "1d", "30 s", "9e99", "99999999999", "0.0000000001", "inf", "NaN", "0x10"} {
		if got, err := parseSeconds(text); err == nil {
			t.Errorf("%q became %v", text, got)
		}
	}
}

// The longest time from TERM to KILL leaves enough of any TTL, and the TTL that is advised for another one is enough.
func TestKillAfterFits(t *testing.T) {
	for _, ttl := range []time.Duration{minTTL, 250 * time.Millisecond, time.Second, defaultTTL, time.Hour, maxTTL} {
		o := tenure.Options{TTL: ttl, Drift: 0.16, Margin: min(50*time.Millisecond, ttl/4)}
		most := longestKillAfter(o)
		if most <= 0 || most > ttl/2 {
			t.Errorf("a TTL of %v leaves %v", ttl, most)
		}
		advised := shortestTTL(most)
		o.TTL, o.Margin = advised, min(50*time.Millisecond, advised/4)
		if longestKillAfter(o) < most || advised > ttl+2*time.Second {
			t.Errorf("for %v a TTL of %v is advised, which leaves %v", most, advised, longestKillAfter(o))
		}
	}
}
