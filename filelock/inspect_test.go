package filelock

import (
	"context"
	"os"
	"sync/atomic"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

func inspect(t testing.TB, s *Store, name string) driver.Report {
	t.Helper()
	report, err := s.Inspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestInspect(t *testing.T) {
	dir := t.TempDir()
	s, other := session(t, dir), session(t, dir)
	if report := inspect(t, s, "a"); len(report.Holders) != 0 {
		t.Fatal(report)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Fatal("Inspect made a file", entries, err)
	}
	req := want("a")
	grant := must(t, s, req)
	for _, from := range []*Store{s, other} {
		report := inspect(t, from, "a")
		if len(report.Holders) != 1 || report.Holders[0].Number != grant.Number || !report.LastRun.IsZero() {
			t.Fatal(report)
		}
	}
	release(t, s, req)
	if report := inspect(t, other, "a"); len(report.Holders) != 0 {
		t.Fatal(report)
	}
	crash(t, s, "a", driver.Exclusive)
	if report := inspect(t, other, "a"); len(report.Holders) != 0 {
		t.Fatal("the dead hold nothing", report)
	}
}

func TestInspectReaders(t *testing.T) {
	dir := t.TempDir()
	s, other := session(t, dir), session(t, dir)
	one, two, three := want("a", sharing), want("a", sharing), want("a", sharing)
	must(t, s, one)
	must(t, s, two)
	must(t, other, three)
	if report := inspect(t, s, "a"); len(report.Holders) != 3 {
		t.Fatal("its own two, and the last", report)
	}
	release(t, other, three)
	report := inspect(t, other, "a")
	if len(report.Holders) != 1 || report.Holders[0].Mode != driver.Shared || report.Holders[0].Session != "" {
		t.Fatal("somebody unknown", report)
	}
	release(t, s, one)
	release(t, s, two)
	if report := inspect(t, other, "a"); len(report.Holders) != 0 {
		t.Fatal(report)
	}
	crash(t, s, "a", driver.Shared)
	if report := inspect(t, other, "a"); len(report.Holders) != 0 {
		t.Fatal("the dead hold nothing", report)
	}
}

// crash holds a name and loses the lock as a killed process does: without a word in the record.
func crash(t testing.TB, s *Store, name string, mode driver.Mode) {
	t.Helper()
	req := want(name, func(r *driver.Request) { r.Mode = mode })
	must(t, s, req)
	h, err := s.holding(req.Acq)
	if err != nil || !s.take(h) {
		t.Fatal(err)
	}
	h.drop()
}

// TestLookersAreNotHolders: whatever the record says of a free name, an inspection never makes it look held.
func TestLookersAreNotHolders(t *testing.T) {
	for _, was := range []string{"released", "crashed", "crashed reader"} {
		for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
			t.Run(was+"/"+mode.String(), func(t *testing.T) {
				dir := t.TempDir()
				s := session(t, dir)
				crash(t, s, "a", driver.Shared)
				var stop atomic.Bool
				looking := make(chan struct{})
				defer func() {
					stop.Store(true)
					<-looking
				}()
				go func() {
					defer close(looking)
					together(3, func(int) {
						for !stop.Load() {
							if _, err := s.Inspect(context.Background(), "a"); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}()
				for range 100 {
					req := want("a", func(r *driver.Request) { r.Mode = mode })
					if _, err := s.Acquire(t.Context(), req); err != nil {
						t.Errorf("a free name: %v", err)
						break
					}
					release(t, s, req)
					switch was {
					case "crashed":
						crash(t, s, "a", driver.Exclusive)
					case "crashed reader":
						crash(t, s, "a", driver.Shared)
					}
				}
			})
		}
	}
}
