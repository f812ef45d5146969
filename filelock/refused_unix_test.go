//go:build linux || darwin || freebsd

package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

// TestFullDisk: a limit on the size of files stands for a disk on which the record finds no room, or only in part.
func TestFullDisk(t *testing.T) {
	p := spawn(t, "full", t.TempDir())
	p.says(t, "well")
	p.finish(t)
}

func childIsFull(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "a.lock")
	refused := func(limit int) error {
		restore, err := limitFiles(limit)
		if err != nil {
			return err
		}
		_, err = s.Acquire(context.Background(), want("a"))
		if undo := restore(); undo != nil {
			return undo
		}
		if fault := new(driver.Fault); !errors.As(err, &fault) || fault.Kind == driver.Unknown {
			return fmt.Errorf("with a limit of %d: %w", limit, err)
		}
		return nil
	}
	for _, limit := range []int{0, 100} { // a file of nothing stays one
		if err := refused(limit); err != nil {
			return err
		}
		if info, err := os.Stat(path); err != nil || info.Size() != 0 {
			return fmt.Errorf("a first record of %d bytes is left (%w)", info.Size(), err)
		}
	}
	req := want("a")
	grant, err := s.Acquire(context.Background(), req)
	if err != nil {
		return err
	}
	restore, err := limitFiles(100)
	if err != nil {
		return err
	}
	if err := s.Release(context.Background(), req.Ref); err != nil { // the record is not needed to give up
		return err
	}
	if err := restore(); err != nil {
		return err
	}
	was, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := refused(100); err != nil {
		return err
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(was) {
		return fmt.Errorf("the record is not as before: %q (%w)", now, err)
	}
	if again, err := s.Acquire(context.Background(), want("a")); err != nil || again.Number <= grant.Number {
		return fmt.Errorf("then: %v, %w", again, err)
	}
	fmt.Println("well")
	return nil
}

// limitFiles sets the soft limit, and gives what sets it back.
func limitFiles(size int) (restore func() error, err error) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return nil, err
	}
	limit := was
	limit.Cur = 0
	for range size {
		limit.Cur++ // the field's type differs by system
	}
	return func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was) }, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}

// TestNoPermission: as a user who may not write. Root may everything, so it becomes somebody else first.
func TestNoPermission(t *testing.T) {
	dir := t.TempDir()
	s := session(t, dir)
	req := want("a")
	must(t, s, req)
	release(t, s, req)
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o755); err != nil {
		t.Fatal(err)
	}
	for at := dir; at != os.TempDir() && at != "/" && at != "."; at = filepath.Dir(at) {
		if os.Chmod(at, 0o755) != nil {
			break // not ours any more
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(dir, "a.lock"), 0o444), os.Chmod(closed, 0o555)); err != nil {
		t.Fatal(err)
	}
	p := spawnWith(t, func(c *exec.Cmd) { unprivileged(t, c, dir) },
		"unprivileged", closed, filepath.Join(closed, "below"))
	for range 2 {
		if said := p.says(t, "refused:"); !strings.Contains(said, "needs write permission") {
			t.Fatal(said)
		}
	}
	p.finish(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	p = spawnWith(t, func(c *exec.Cmd) { unprivileged(t, c, dir) }, "readonly", dir)
	if said := p.says(t, "refused:"); !strings.Contains(said, "needs write permission") {
		t.Fatal(said)
	}
	p.finish(t)
}

// unprivileged has a command run as nobody, if this is root, who needs a copy of the program in a place for all.
func unprivileged(t *testing.T, c *exec.Cmd, dir string) {
	if os.Getuid() != 0 {
		return
	}
	original := c.Path
	c.Path = filepath.Join(dir, "program")
	if _, err := os.Stat(c.Path); err != nil {
		program, err := os.ReadFile(original)
		if err == nil {
			err = os.WriteFile(c.Path, program, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
