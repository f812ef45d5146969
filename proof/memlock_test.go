package proof

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/memlock"
)

func memory(ttl time.Duration) (Config, *memlock.Store) {
	store := memlock.New(memlock.Options{TTL: ttl})
	return Config{
		Open:   func(context.Context) (driver.Store, error) { return store.Session(), nil },
		Lose:   func(name string) { store.Lose(name) },
		Faults: faults,
	}, store
}

// inFakeTime tortures a memory for minutes that pass in a moment. Where nobody waits for a processor, what should come at
// once must.
func inFakeTime(t *testing.T, seed uint64, seen Tally, change func(*Config, *memlock.Store)) {
	synctest.Test(t, func(t *testing.T) {
		config, store := memory(3 * time.Second)
		config.Seed, config.Exact, config.Clock = seed, true, Rising(ProcessClock())
		config.Faults.Delay = 300 * time.Millisecond
		change(&config, store)
		history, err := Torture(t.Context(), config)
		if err != nil {
			t.Fatalf("%v\nhistory in %s", err, keep(history))
		}
		seen.Add(history)
	})
}

// common is what the tortures in fake time must have seen.
var common = []string{
	"acquire ok", "acquire held", "acquire late", "acquire cancelled", "acquire unknown", "acquire closed",
	"handed on", "renew ok", "lost ok", "release ok", "release unavailable", "write ok",
}

// few is what even the short tortures in real time must have seen.
var few = []string{"acquire ok", "acquire held", "acquire late", "handed on", "renew ok", "release ok", "write ok"}

func TestMemlockInFakeTime(t *testing.T) {
	seen := Tally{}
	rounds(t, 20, 4, func(seed uint64) {
		inFakeTime(t, seed, seen, func(config *Config, _ *memlock.Store) {
			if seed%2 == 0 {
				config.Faults.Late = 0 // then nothing is stranded for longer than a clean-up takes
			}
		})
	})
	seen.happened(t, append(common, "release lost", "lose ok")...)
}

// TestMemlockThatBreaksItsWord forgets holders without telling them: then only the guards keep order.
func TestMemlockThatBreaksItsWord(t *testing.T) {
	seen := Tally{}
	rounds(t, 10, 2, func(seed uint64) {
		inFakeTime(t, seed, seen, func(config *Config, store *memlock.Store) {
			config.Untold, config.Lose = true, func(name string) { store.LoseQuietly(name) }
		})
	})
	seen.happened(t, append(common, "release lost", "lose ok", "write stale")...)
}

func TestMemlockInRealTime(t *testing.T) {
	t.Parallel()
	seen := Tally{}
	rounds(t, 1, 1, func(seed uint64) {
		config, _ := memory(250 * time.Millisecond)
		config.Seed, config.Ops, config.Faults.Delay = seed, 25, 25*time.Millisecond
		history, err := Torture(t.Context(), config)
		if err != nil {
			t.Fatalf("%v\nhistory in %s", err, keep(history))
		}
		seen.Add(history)
	})
	seen.happened(t, few...)
}
