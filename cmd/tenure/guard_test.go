//go:build linux || darwin

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/cmd/tenure/internal/group"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/filelock"
)

// runs is how often each way of losing the wrapper is tried.
const runs = 100

// beside is how many are tried at a time.
const beside = 6

// H60, H65: the wrapper is killed. Its lock file closes with it, but no successor is granted the lock before the
// command's whole group is dead, which has a grandchild that writes ticks, half of the time deaf to SIGTERM.
func TestH65KilledWrapper(t *testing.T) {
	many(t, runs, func(t *testing.T, c *contest, number int) {
		args := []string{}
		if number%2 == 1 {
			args = append(args, "-deaf")
		}
		wrapper := c.start(t, []string{"--ttl", "2s", "--kill-after", "50ms"}, args...)
		granted := c.succeed(t)
		if err := wrapper.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.judge(t, <-granted)
		_ = wrapper.Wait() // it was killed
	})
}

// H60: the wrapper is stopped. The guardian kills the group at the deadline, and only then frees the lock, which the
// stopped wrapper still holds. The wrapper, once it goes on, says 79.
func TestH60StoppedWrapper(t *testing.T) {
	many(t, runs, func(t *testing.T, c *contest, _ int) {
		wrapper := c.start(t, []string{"--ttl", "500ms"})
		granted := c.succeed(t)
		if err := wrapper.Process.Signal(unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		c.judge(t, <-granted)
		if err := wrapper.Process.Signal(unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		expectStatus(t, wrapper, statusLost)
	})
}

// H65: the wrapper is killed at any moment of its start. Nothing of it runs on unguarded.
func TestH65KilledAnywhere(t *testing.T) {
	many(t, 4*beside, func(t *testing.T, c *contest, number int) {
		moment := time.Duration(number) * time.Millisecond
		read, write, err := os.Pipe() // what the wrapper starts inherits it, all but the guardian
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		wrapper := c.command([]string{"--kill-after", "1ms"}, "-deaf")
		wrapper.Stdout = write
		if err := wrapper.Start(); err != nil {
			t.Fatal(err)
		}
		_ = write.Close()
		time.Sleep(moment)
		if err := wrapper.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = wrapper.Wait() // it was killed
		if err := read.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(read); err != nil {
			t.Errorf("killed after %v, it left something running: %v", moment, err)
		}
	})
}

func expectStatus(t *testing.T, cmd *exec.Cmd, want int) {
	t.Helper()
	err := cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("the wrapper ended with %d (%v), want %d:\n%s", got, err, want, cmd.Stderr)
	}
}

// contest is a wrapper against a successor in this process.
type contest struct {
	store, name string
	locker      *tenure.Locker
	ticks       string
}

// many has contests over a directory.
func many(t *testing.T, runs int, try func(*testing.T, *contest, int)) {
	dir := t.TempDir()
	store, err := filelock.Open(dir, filelock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	manyOver(t, dir, store, runs, try)
}

// manyOver has contests over the store at an address; store is the successor's session with it.
func manyOver(t *testing.T, address string, store driver.Store, runs int, try func(*testing.T, *contest, int)) {
	build(t)
	dir := t.TempDir()
	locker, err := tenure.New(store, tenure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(locker.Close(context.Background()), store.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	for lane := range beside {
		t.Run(strconv.Itoa(lane), func(t *testing.T) {
			t.Parallel()
			for number := lane; number < runs && !t.Failed(); number += beside {
				name := fmt.Sprintf("contest-%d", number)
				try(t, &contest{address, name, locker, filepath.Join(dir, name+".ticks")}, number)
			}
		})
	}
}

// start starts the wrapper, and returns when there are ticks. A short lease may be lost on a busy machine before anything
// has begun; then it starts again.
func (c *contest) start(t *testing.T, flags []string, ticker ...string) *exec.Cmd {
	t.Helper()
	cmd := c.command(flags, ticker...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ticks of "+c.name, func() bool {
		if len(c.read(t)) > 3 {
			return true
		}
		var status unix.WaitStatus
		if pid, _ := unix.Wait4(cmd.Process.Pid, &status, unix.WNOHANG, nil); pid == 0 {
			return false
		}
		if status.ExitStatus() != statusLost {
			t.Fatalf("the wrapper ended with %d:\n%s", status.ExitStatus(), cmd.Stderr)
		}
		t.Log("the lease was lost before the work began: starting again")
		_ = os.Remove(c.ticks)
		cmd = c.command(flags, ticker...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return false
	})
	return cmd
}

// command is a wrapper whose command's child ticks.
func (c *contest) command(flags []string, ticker ...string) *exec.Cmd {
	line := strings.Join(append(append([]string{built.ticker}, ticker...), c.ticks), " ") + " & wait"
	args := append([]string{"run", "--store", c.store}, flags...)
	cmd := exec.Command(built.tenure, append(args, c.name, "--", "sh", "-c", line)...)
	cmd.Stderr = &words{}
	cmd.WaitDelay = patience // for whatever should have ended with it
	return cmd
}

// read gives the process id and the ticks.
func (c *contest) read(t *testing.T) (numbers []int64) {
	t.Helper()
	text, err := os.ReadFile(c.ticks)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if number, err := strconv.ParseInt(strings.TrimSuffix(line, "\n"), 10, 64); err == nil {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// grant is what the successor saw when it was granted the lock.
type grant struct {
	err   error
	at    int64
	alive bool // the ticking process
}

// succeed has the successor wait for the lock.
func (c *contest) succeed(t *testing.T) <-chan grant {
	pid := int(c.read(t)[0])
	granted := make(chan grant, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		lease, err := c.locker.Acquire(ctx, c.name)
		if err != nil {
			granted <- grant{err: err}
			return
		}
		seen := grant{at: monotonic(), alive: living(pid)}
		seen.err = lease.Release(ctx)
		granted <- seen
	}()
	return granted
}

func (c *contest) judge(t *testing.T, seen grant) {
	t.Helper()
	ticks := c.read(t)
	switch last := ticks[len(ticks)-1]; {
	case seen.err != nil:
		t.Error(seen.err)
	case seen.alive:
		t.Errorf("%s: the successor was granted the lock while the work still ran", c.name)
	case last > seen.at:
		t.Errorf("%s: a tick came %d ns after the successor's grant", c.name, last-seen.at)
	}
}

func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// living says whether a process of the group of a ticker can still run. (Its own id may belong to a dead one that nobody
// has waited for.)
func living(pid int) bool {
	id, err := unix.Getpgid(pid)
	return err == nil && group.Alive(id)
}
