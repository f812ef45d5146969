package session

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// TestClockStep: a step back is noticed, whatever the delays; delays, drift and steps forward are none.
func TestClockStep(t *testing.T) {
	t.Parallel()
	var c serverClock
	now := driver.Now()
	wall := now.Time().Add(time.Minute) // the server's clock may be anything
	for _, step := range []struct {
		what        string
		passed, way time.Duration // since the last answer; of which on the way back
		moved       time.Duration // the server's clock, beside that
		back        bool
	}{
		{"at first", 0, 0, 0, false},
		{"at once", time.Millisecond, 0, 0, false},
		{"a delay of 5 s", 5 * time.Second, 5 * time.Second, 0, false},
		{"a prompt answer after it", time.Second, 0, 0, false},
		{"drift", time.Minute, 0, -20 * time.Millisecond, false},
		{"a step forward", time.Second, 0, 10 * time.Second, false},
		{"a step back", time.Second, 0, -5 * time.Second, true},
		{"nothing more", time.Second, 0, 0, false},
		{"a step back behind a delay", 3 * time.Second, 2 * time.Second, -5 * time.Second, true},
	} {
		now = now.Add(step.passed)
		wall = wall.Add(step.passed + step.moved)
		back := c.look(wall.Add(-step.way), now.Add(-step.way-time.Millisecond), now)
		if (back > 0) != step.back {
			t.Errorf("%s: set back by %v", step.what, back)
		}
	}
}

// TestClockStepIsReported by the session's logger.
func TestClockStepIsReported(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	s := start(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
	now := driver.Now()
	s.looksAt(now.Time().Add(time.Hour).UnixMicro(), now)
	s.take(t, "stepped").releases()
	if !strings.Contains(said.String(), "set back") {
		t.Errorf("the log says %q", said.String())
	}
}
