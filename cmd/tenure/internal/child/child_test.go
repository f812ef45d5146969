//go:build linux || darwin

package child

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure/cmd/tenure/internal/self"
)

func TestMain(m *testing.M) {
	if self.Role() == self.Command {
		os.Exit(Stub())
	}
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, command ...string) *Child {
	t.Helper()
	c, err := Start(command, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func next(t *testing.T, c *Child) Event {
	t.Helper()
	select {
	case event := <-c.Events():
		return event
	case <-time.After(20 * time.Second):
		t.Fatal("no event")
		return Event{}
	}
}

// Without the go-ahead there is no command, also when whoever would give it was killed: the pipe ends then, too.
func TestNoGoAheadNoCommand(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	c := start(t, "touch", ran)
	c.Abort()
	if _, err := os.Stat(ran); !errors.Is(err, os.ErrNotExist) {
		t.Error("it ran")
	}
}

// The group is there before the command is.
func TestTheGroupComesFirst(t *testing.T) {
	c := start(t, "sh", "-c", "exit 9")
	if id, err := unix.Getpgid(c.Group()); err != nil || id != c.Group() {
		t.Errorf("the stub is in group %d: %v", id, err)
	}
	if err := c.GoAhead(); err != nil {
		t.Fatal(err)
	}
	if event := next(t, c); !event.Ended {
		t.Errorf("%+v", event)
	}
	<-c.Begun()
	if err := c.Failed(); err != nil {
		t.Error(err)
	}
	if status := c.Reap(); status.ExitStatus() != 9 {
		t.Errorf("status %v", status)
	}
}

func TestStopsAreToldOnce(t *testing.T) {
	c := start(t, "sh", "-c", "kill -TSTP $$; kill -STOP $$; exit 0")
	if err := c.GoAhead(); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []unix.Signal{unix.SIGTSTP, unix.SIGSTOP} {
		if event := next(t, c); event.Stopped != sig {
			t.Errorf("%+v, want a stop by %v", event, sig)
		}
		if err := unix.Kill(c.Group(), unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	if event := next(t, c); !event.Ended {
		t.Errorf("%+v", event)
	}
	if status := c.Reap(); !status.Exited() {
		t.Errorf("status %v", status)
	}
}

func TestNothingToRun(t *testing.T) {
	for command, want := range map[string]error{
		"/no/such/file": unix.ENOENT,
		"":              unix.ENOENT,
		"/etc/passwd":   unix.EACCES,
		"/etc/passwd/x": unix.ENOTDIR,
	} {
		c := start(t, command)
		if err := c.GoAhead(); err != nil {
			t.Fatal(err)
		}
		next(t, c)
		status := c.Reap()
		if err := c.Failed(); !errors.Is(err, want) || status.ExitStatus() != Status(want) {
			t.Errorf("%q: %v and status %d, want %v", command, err, status.ExitStatus(), want)
		}
	}
}
