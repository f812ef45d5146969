package filelock

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

// TestKilledHolderIsFreedAtOnce: by the kernel, for those who try and those who wait.
func TestKilledHolderIsFreedAtOnce(t *testing.T) {
	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
		dir := t.TempDir()
		s := session(t, dir)
		holder := spawn(t, "hold", dir, "a", mode.String())
		last, err := strconv.ParseInt(holder.says(t, "held"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if who := held(t, s, want("a")); who.PID != holder.Process.Pid {
			t.Fatalf("held by %v", who)
		}
		req := want("a", wait)
		waiting := async(t, t.Context(), s, req)
		if err := holder.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if grant := waiting.granted(t); grant.Number <= last {
			t.Fatalf("%d after %d", grant.Number, last)
		}
		release(t, s, req)
		must(t, s, want("a"))
	}
}

// TestProcessesCount: what only the lock protects stays whole, and the numbers rise in the order of the grants.
func TestProcessesCount(t *testing.T) {
	const each = 15
	dir := t.TempDir()
	path := filepath.Join(dir, "numbers")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var all []*part
	for range 3 {
		all = append(all, spawn(t, "count", dir, "a", path, strconv.Itoa(each)))
	}
	for _, p := range all {
		p.finish(t)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	if len(lines) != len(all)*each {
		t.Fatalf("%d lines", len(lines))
	}
	var last int64
	for _, line := range lines {
		number, err := strconv.ParseInt(line, 10, 64)
		if err != nil || number <= last {
			t.Fatalf("%s after %d (%v)", line, last, err)
		}
		last = number
	}
}
