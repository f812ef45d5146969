package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

// TestReplacedFile: a lock file that is deleted or replaced under its holder is a loss, and under a waiter is not.
func TestReplacedFile(t *testing.T) {
	for _, harm := range []string{"deleted", "replaced"} {
		for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
			for _, first := range []string{"renew", "release"} {
				t.Run(harm+"/"+mode.String()+"/"+first, func(t *testing.T) {
					replaceFile(t, harm, mode, first)
				})
			}
		}
	}
}

func replaceFile(t *testing.T, harm string, mode driver.Mode, first string) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.lock")
	s, other := session(t, dir), session(t, dir)
	w := newWatch()
	req := want("a", watching(w), func(r *driver.Request) { r.Mode = mode })
	grant := must(t, s, req)
	if r := renew(s, req); r.Err != nil || r.Proof.Sent < grant.Proof.Sent {
		t.Fatal(r)
	}
	waiting := async(t, t.Context(), other, want("a", wait))
	err := os.Remove(path)
	if runtime.GOOS == "windows" {
		if err == nil {
			t.Fatal("a lock file in use was deleted")
		}
		return
	}
	if err == nil && harm == "replaced" {
		err = os.WriteFile(path, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	next := waiting.granted(t)
	if first == "renew" {
		if r := renew(s, req); !errors.Is(r.Err, driver.ErrNotOurs) {
			t.Fatal(r)
		}
		if cause := <-w.lost; !errors.Is(cause, driver.ErrNotOurs) {
			t.Fatal(cause)
		}
	}
	if err := s.Release(t.Context(), req.Ref); !errors.Is(err, driver.ErrNotOurs) {
		t.Fatal(err)
	}
	if report := inspect(t, s, "a"); len(report.Holders) != 1 || report.Holders[0].Number != next.Number {
		t.Fatal(report)
	}
	held(t, s, want("a"))
}

// TestNeverHeld: nothing is renewed or released that was not granted (H18), or not any more (H4).
func TestNeverHeld(t *testing.T) {
	s := session(t, t.TempDir())
	req := want("a")
	for range 2 {
		if err := s.Release(t.Context(), req.Ref); !errors.Is(err, driver.ErrNotOurs) {
			t.Fatal(err)
		}
		if r := renew(s, req); !errors.Is(r.Err, driver.ErrNotOurs) {
			t.Fatal(r)
		}
		if len(inspect(t, s, "a").Holders) != 0 {
			t.Fatal("a renewal has created")
		}
		must(t, s, req)
		release(t, s, req)
	}
}

// TestReplacedBeforeLocked: a file that is deleted between opening and locking is not the one that is locked.
func TestReplacedBeforeLocked(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // it cannot be deleted: see replaceFile
	}
	s := session(t, t.TempDir())
	a, err := s.newAsk(t.Context(), want("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.tidy()
	target := a.targets[0]
	if target.file, err = openLock(target.path, create); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(target.path); err != nil {
		t.Fatal(err)
	}
	if taken, err := target.once(); err != nil || !taken {
		t.Fatal(taken, err)
	}
	if current, err := target.file.current(); err != nil || !current {
		t.Fatal("a file that is not there is locked", err)
	}
	held(t, s, want("a"))
}
