//go:build unix

package proof

import (
	"context"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/filelock"
)

func directory(_ context.Context, dir string) (driver.Store, error) {
	return filelock.Open(dir, filelock.Options{TTL: 250 * time.Millisecond})
}

func TestFilelock(t *testing.T) {
	t.Parallel()
	seen := Tally{}
	rounds(t, 1, 1, func(seed uint64) {
		dir := t.TempDir()
		config := Config{
			Seed:   seed,
			Open:   func(ctx context.Context) (driver.Store, error) { return directory(ctx, dir) },
			Ops:    25,
			Faults: faults,
		}
		config.Faults.Delay = 25 * time.Millisecond
		history, err := Torture(t.Context(), config)
		if err != nil {
			t.Fatalf("%v\nhistory in %s", err, keep(history))
		}
		seen.Add(history)
	})
	seen.happened(t, few...)
}

// TestFilelockProcesses stops, continues and kills processes that share a directory.
func TestFilelockProcesses(t *testing.T) {
	t.Parallel()
	seen := Tally{}
	rounds(t, 0, 1, func(seed uint64) {
		torture := Processes{Seed: seed, Open: directory, Address: t.TempDir(), Dir: t.TempDir(), Faults: faults}
		torture.Faults.Delay = 25 * time.Millisecond
		history, err := torture.Torture(t.Context())
		if err != nil {
			t.Fatalf("%v\nhistory in %s", err, keep(history))
		}
		seen.Add(history)
	})
	seen.happened(t, "acquire ok", "acquire held", "acquire -", "renew ok", "release ok", "write ok", "kill ok")
}
