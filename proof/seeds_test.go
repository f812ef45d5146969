package proof

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// faults are what the stores are tortured with.
var faults = Faults{Fail: 0.04, Mute: 0.06, Late: 0.03, Slow: 0.3}

// rounds runs one seed after another, and stops at the first that fails: that of TENURE_SEED alone; or else the first
// ones, which are always the same, then new ones. With TENURE_TORTURE it goes on with new ones for so long.
func rounds(t *testing.T, same, others int, run func(seed uint64)) {
	t.Helper()
	count, seed := same+others, uint64(1)
	text, given := os.LookupEnv("TENURE_SEED")
	if given {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("TENURE_SEED=%q: %v", text, err)
		}
		count = 1
	}
	began, length := time.Now(), duration(t)
	for round := 0; (round < count || time.Since(began) < length) && !t.Failed(); round++ {
		run(seed)
		if seed++; !given && round+1 >= same {
			seed = rand.Uint64N(1 << 32)
		}
	}
}

// duration is TENURE_TORTURE.
func duration(t *testing.T) time.Duration {
	text := os.Getenv("TENURE_TORTURE")
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("TENURE_TORTURE=%q: %v", text, err)
	}
	return d
}

// keep writes a history down where it stays for people to read.
func keep(history History) string {
	file, err := os.CreateTemp("", "history-*.txt")
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString(history.String()); err != nil {
		return err.Error()
	}
	return file.Name()
}

// happened fails a run in which too little happened to prove anything.
func (tally Tally) happened(t *testing.T, what ...string) {
	t.Helper()
	t.Log(tally)
	for _, event := range what {
		if tally[event] == 0 {
			t.Errorf("in the whole run there was never %q: it proves nothing about that", event)
		}
	}
}
