//go:build linux || darwin || freebsd

package filelock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/process"
)

func childOfThisSystem(args []string) error {
	switch args[0] {
	case "orphan": // DIR NAME: holds the name, with a process of its own that outlives it
		return childHolds(args[1], args[2], "exclusive", func() {
			cmd := exec.Command(os.Args[0], "linger")
			cmd.Stdin, cmd.Stdout = os.NewFile(3, "stdin"), os.NewFile(4, "stdout")
			if err := cmd.Start(); err != nil {
				fmt.Println("failed:", err)
			}
			fmt.Println("orphan", cmd.Process.Pid)
			_, _ = io.Copy(io.Discard, os.Stdin)
		})
	case "linger":
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "full": // DIR
		return childIsFull(args[1])
	case "unprivileged": // DIR...
		for _, dir := range args[1:] {
			_, err := Open(dir, Options{})
			fmt.Println("refused:", err)
		}
		return nil
	case "readonly": // DIR
		s, err := Open(args[1], Options{})
		if err == nil {
			_, err = s.Acquire(context.Background(), want("a"))
		}
		fmt.Println("refused:", err)
		return nil
	}
	return fmt.Errorf("no part %q", args[0])
}

// TestH62DescriptorsAreNotInherited: a process that the holder left behind keeps no lock.
func TestH62DescriptorsAreNotInherited(t *testing.T) {
	dir := t.TempDir()
	s := session(t, dir)
	lingers, stop, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	over, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	holder := spawnWith(t, func(c *exec.Cmd) { c.ExtraFiles = []*os.File{lingers, end} }, "orphan", dir, "a")
	for _, f := range []*os.File{lingers, end} {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		_ = stop.Close()
		_, _ = io.Copy(io.Discard, over) // until it has ended
		_ = over.Close()
	}()
	holder.says(t, "held")
	orphan := holder.says(t, "orphan")
	waiting := async(t, t.Context(), s, want("a", wait))
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waiting.granted(t)
	var pid int
	if _, err := fmt.Sscan(orphan, &pid); err != nil || syscall.Kill(pid, 0) != nil {
		t.Fatal("the orphan does not live, so nothing was shown", err)
	}
}

// TestStoppedWaiter: a waiter that is stopped holds nobody up, neither writers nor, after a moment, readers.
func TestStoppedWaiter(t *testing.T) {
	dir := t.TempDir()
	s := session(t, dir)
	reader := want("a", sharing)
	must(t, s, reader)
	waiter := spawn(t, "hold", dir, "a", "exclusive")
	waiter.says(t, "queued")
	eventually(t, "the waiting writer holds readers back", func() bool {
		req := want("a", sharing)
		_, err := s.Acquire(t.Context(), req)
		if err == nil {
			release(t, s, req)
		}
		return err != nil
	})
	if err := process.Stop(waiter.Process.Pid); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := process.Continue(waiter.Process.Pid); err != nil {
			t.Error(err)
		}
	}()
	another := want("a", sharing, wait)
	start(t.Context(), s, another).granted(t)
	release(t, s, another)
	writer := want("a", wait)
	waiting := async(t, t.Context(), s, writer)
	release(t, s, reader)
	waiting.granted(t)
	release(t, s, writer)
}

func TestOddFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	s := session(t, dir)
	elsewhere := filepath.Join(t.TempDir(), "empty")
	if err := errors.Join(
		os.WriteFile(elsewhere, nil, 0o600),
		os.Symlink(elsewhere, filepath.Join(dir, "link.lock")),
		syscall.Mkfifo(filepath.Join(dir, "fifo.lock"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "fifo"} {
		_, err := s.Acquire(t.Context(), want(name))
		faulty(t, err, driver.Lasting)
		_, err = s.Inspect(t.Context(), name)
		faulty(t, err, driver.Lasting)
	}
	if info, err := os.Stat(elsewhere); err != nil || info.Size() != 0 {
		t.Fatal("written through a link", err)
	}
}

// TestForeignLocker: flock(1) on our file keeps us out, and is called another program.
func TestForeignLocker(t *testing.T) {
	dir := t.TempDir()
	s := session(t, dir)
	req := want("a")
	must(t, s, req)
	release(t, s, req)
	fd, err := syscall.Open(filepath.Join(dir, "a.lock"), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if who := held(t, s, want("a")); !who.Foreign {
		t.Fatal(who)
	}
	if err := syscall.Close(fd); err != nil {
		t.Fatal(err)
	}
	must(t, s, want("a"))
}

// TestTooManyOpenFiles: no descriptor left is a passing fault.
func TestTooManyOpenFiles(t *testing.T) {
	s := session(t, t.TempDir())
	req := want("a")
	must(t, s, req)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	none := was
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, acquire := s.Acquire(t.Context(), want("b"))
	_, look := s.Inspect(t.Context(), "a")
	renewal := renew(s, req)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	faulty(t, acquire, driver.Passing)
	faulty(t, look, driver.Passing)
	if renewal.Err != nil { // on a system where it needs one
		faulty(t, renewal.Err, driver.Passing)
	}
	if r := renew(s, req); r.Err != nil {
		t.Fatal(r.Err)
	}
	release(t, s, req)
}
