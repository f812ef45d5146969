package driver_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestHolderSaysWhatIsKnown, and no more.
func TestHolderSaysWhatIsKnown(t *testing.T) {
	since := time.Date(2026, 5, 4, 12, 30, 5, 0, time.Local)
	for want, holder := range map[string]driver.Holder{
		"an unknown holder":                            {},
		"an unknown holder, since 2026-05-04 12:30:05": {Since: since},
		"report":                   {Program: "report"},
		"pid 4711":                 {PID: 4711},
		"on web-1":                 {Host: "web-1"},
		"report pid 4711 on web-1": {Program: "report", PID: 4711, Host: "web-1"},
		"(another program's lock)": {Foreign: true},
		"pid 7 (nightly)":          {PID: 7, Note: "nightly"},
		"an unknown holder, since 2026-05-04 12:30:06": {Since: since.Add(time.Second).UTC()}, // in the reader's zone
		"report pid 4711 on web-1 (nightly), since 2026-05-04 12:30:05": {
			Program: "report", PID: 4711, Host: "web-1", Note: "nightly", Since: since, Session: "not said", Acq: 3, Number: 9,
		},
	} {
		if got := holder.String(); got != want {
			t.Errorf("%+v reads %q, want %q", holder, got, want)
		}
	}
}

// TestH66SelfHasNoArguments: the program is its name only.
func TestH66SelfHasNoArguments(t *testing.T) {
	self := driver.Self()
	if self.PID != os.Getpid() || self.Program != filepath.Base(os.Args[0]) {
		t.Errorf("this process is said to be %+v", self)
	}
}

// TestGuaranteesHaveNames, each one its own.
func TestGuaranteesHaveNames(t *testing.T) {
	for want, guarantees := range map[string]driver.Guarantee{
		"none":                    0,
		"FencingSurvivesCrash":    driver.FencingSurvivesCrash,
		"FencingSurvivesFailover": driver.FencingSurvivesFailover,
		"LockSurvivesCrash":       driver.LockSurvivesCrash,
		"LockSurvivesFailover":    driver.LockSurvivesFailover,
		"StalledHolderFreed":      driver.StalledHolderFreed,
		"FirstInFirstOut":         driver.FirstInFirstOut,
		"FencingSurvivesCrash|StalledHolderFreed|FirstInFirstOut": driver.FirstInFirstOut | driver.StalledHolderFreed | driver.FencingSurvivesCrash,
	} {
		if got := guarantees.String(); got != want {
			t.Errorf("%b reads %q, want %q", guarantees, got, want)
		}
	}
}

// TestGuaranteesHasAll of what is wanted, not only some.
func TestGuaranteesHasAll(t *testing.T) {
	both := driver.LockSurvivesCrash | driver.FirstInFirstOut
	if !both.Has(driver.FirstInFirstOut) || !both.Has(both) || !both.Has(0) || driver.FirstInFirstOut.Has(both) {
		t.Error("one of two is not both")
	}
}

// TestLocalMakesItsValueOnce, whoever asks first.
func TestLocalMakesItsValueOnce(t *testing.T) {
	var local driver.Local
	made := 0
	values := make([]any, 20)
	var callers sync.WaitGroup
	for i := range values {
		callers.Go(func() { values[i] = local.Attached().Value(func() any { made++; return &made }) })
	}
	callers.Wait()
	for _, value := range values {
		if value != &made || made != 1 {
			t.Fatalf("made %d times, and one caller got %v", made, value)
		}
	}
}

// TestValidityIsNeverAboveTheTTL.
func TestValidityIsNeverAboveTheTTL(t *testing.T) {
	terms := driver.Terms{TTL: 10 * time.Second}
	for says, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Minute: terms.TTL, terms.TTL: terms.TTL} {
		info := driver.Info{Valid: func(driver.Terms) time.Duration { return says }}
		if got := info.Validity(terms); got != want {
			t.Errorf("a store whose proofs are good for %v: %v, want %v", says, got, want)
		}
	}
	if got := (driver.Info{}).Validity(terms); got != terms.TTL {
		t.Errorf("a store that says nothing: %v, want the TTL", got)
	}
}

// TestFaultIsItsError, and an unsupported one is lasting.
func TestFaultIsItsError(t *testing.T) {
	var fault *driver.Fault
	err := driver.Unsupported("slots")
	if !errors.As(err, &fault) || fault.Kind != driver.Lasting || !errors.Is(err, driver.ErrUnsupported) || err.Error() != "slots: not supported by this store" {
		t.Errorf("%v", err)
	}
	if (&driver.Fault{}).Kind != driver.Unknown {
		t.Error("a fault of which nothing is said must count as unknown")
	}
}
