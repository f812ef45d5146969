//go:build linux || darwin || freebsd

package filelock

import (
	"errors"
	"syscall"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

// unlockLikeAGuardian frees a grant through a duplicate, as a guardian does when the holder was stopped for too long.
func unlockLikeAGuardian(t *testing.T, s *Store, ref driver.Ref) {
	t.Helper()
	set, err := s.Descriptors(ref)
	if err != nil || len(set.FDs) != 1 || set.Changed != nil {
		t.Fatal(set, err)
	}
	if err := errors.Join(syscall.Flock(set.FDs[0], syscall.LOCK_UN), syscall.Close(set.FDs[0])); err != nil {
		t.Fatal(err)
	}
}

// TestGuardianUnlocks: the holder notices when it wakes, whether the kernel tells or not, whoever has the name by then,
// and disturbs nobody.
func TestGuardianUnlocks(t *testing.T) {
	for _, kernel := range []string{"tells", "does not tell"} {
		for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
			for _, after := range []string{"nobody", "a holder", "one that has left"} {
				if kernel == "does not tell" && mode == driver.Shared && after == "nobody" {
					continue // is not to be told: see proveByLocking
				}
				t.Run(kernel+"/"+mode.String()+"/"+after, func(t *testing.T) {
					dir := t.TempDir()
					s, other := session(t, dir), session(t, dir)
					w := newWatch()
					req := want("a", watching(w), func(r *driver.Request) { r.Mode = mode })
					must(t, s, req)
					if kernel != "tells" {
						s.tells.Store(false)
					}
					if r := renew(s, req); r.Err != nil || r.Proof.Sent == 0 {
						t.Fatal(r)
					}
					unlockLikeAGuardian(t, s, req.Ref)
					next := want("a")
					if after != "nobody" {
						must(t, other, next)
					}
					if after == "one that has left" {
						release(t, other, next)
					}
					if r := renew(s, req); !errors.Is(r.Err, driver.ErrNotOurs) {
						t.Fatal("renewed:", r)
					}
					if cause := <-w.lost; !errors.Is(cause, driver.ErrNotOurs) {
						t.Fatal(cause)
					}
					if err := s.Release(t.Context(), req.Ref); !errors.Is(err, driver.ErrNotOurs) {
						t.Fatal("released:", err)
					}
					if after == "a holder" {
						if r := renew(other, next); r.Err != nil {
							t.Fatal("the next holder lost it:", r.Err)
						}
						held(t, s, want("a"))
						return
					}
					must(t, s, want("a"))
				})
			}
		}
	}
}

// TestH16LateRelease: a release of what was lost leaves the next holder's lock and record alone.
func TestH16LateRelease(t *testing.T) {
	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
		dir := t.TempDir()
		s, other := session(t, dir), session(t, dir)
		req, next := want("a", func(r *driver.Request) { r.Mode = mode }), want("a")
		must(t, s, req)
		unlockLikeAGuardian(t, s, req.Ref)
		must(t, other, next)
		release(t, other, next)
		if err := s.Release(t.Context(), req.Ref); !errors.Is(err, driver.ErrNotOurs) {
			t.Fatal("after another has held and left:", err) // H8
		}

		req, next = want("a", func(r *driver.Request) { r.Mode = mode }), want("a")
		must(t, s, req)
		unlockLikeAGuardian(t, s, req.Ref)
		grant := must(t, other, next)
		if err := s.Release(t.Context(), req.Ref); !errors.Is(err, driver.ErrNotOurs) {
			t.Fatal(err)
		}
		if report := inspect(t, s, "a"); len(report.Holders) != 1 || report.Holders[0].Number != grant.Number {
			t.Fatal(report)
		}
		release(t, other, next)
		if err := s.Release(t.Context(), next.Ref); !errors.Is(err, driver.ErrNotOurs) {
			t.Fatal("another session's: ", err) // H18
		}
	}
}

// TestDuplicates: a guardian's duplicate keeps the lock of a killed holder (H65), and not that of one that released.
func TestDuplicates(t *testing.T) {
	dir := t.TempDir()
	s, other := session(t, dir), session(t, dir)
	req := want("a")
	must(t, s, req)
	set, err := s.Descriptors(req.Ref)
	if err != nil {
		t.Fatal(err)
	}
	release(t, s, req)
	again := want("a")
	must(t, other, again)
	release(t, other, again)
	if err := syscall.Close(set.FDs[0]); err != nil {
		t.Fatal(err)
	}

	req = want("a")
	must(t, s, req)
	if set, err = s.Descriptors(req.Ref); err != nil {
		t.Fatal(err)
	}
	h, err := s.holding(req.Ref.Acq)
	if err != nil || !s.take(h) {
		t.Fatal(err)
	}
	if err := h.file.close(); err != nil { // as the kernel does for a killed process
		t.Fatal(err)
	}
	held(t, other, want("a"))
	if err := syscall.Close(set.FDs[0]); err != nil {
		t.Fatal(err)
	}
	must(t, other, want("a"))
	if _, err := s.Descriptors(req.Ref); !errors.Is(err, driver.ErrNotOurs) {
		t.Fatal(err)
	}
}
