package tenure_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/memlock"
)

// TestH9H20ImpossibleOptions are refused, with what would be right.
func TestH9H20ImpossibleOptions(t *testing.T) {
	for _, test := range []struct {
		opts tenure.Options
		says string
	}{
		{tenure.Options{TTL: 9 * time.Millisecond}, "between 10ms and 24h"},
		{tenure.Options{TTL: 30}, "a bare number is nanoseconds"},
		{tenure.Options{TTL: -time.Second}, "between 10ms and 24h"},
		{tenure.Options{TTL: 25 * time.Hour}, "between 10ms and 24h"},
		{tenure.Options{Drift: -0.1}, "a fraction of the TTL"},
		{tenure.Options{Drift: 16}, "a fraction of the TTL"},
		{tenure.Options{Drift: math.NaN()}, "a fraction of the TTL"},
		{tenure.Options{Margin: -time.Second}, "cannot be negative"},
		{tenure.Options{Margin: 25 * time.Second}, "at least half the TTL"},
		{tenure.Options{Drift: 0.9}, "at least half the TTL"},
		{tenure.Options{MaxHold: -1}, "cannot be negative"},
		{tenure.Options{MinHold: -1}, "cannot be negative"},
		{tenure.Options{MinHold: time.Hour, MaxHold: time.Minute}, "above the MaxHold"},
		{tenure.Options{OncePer: -1}, "cannot be negative"},
		{tenure.Options{OncePer: time.Millisecond}, "at least a second"},
	} {
		if _, err := tenure.New(memory(t), test.opts); !errors.Is(err, tenure.ErrInvalid) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v", test.opts, err)
		}
	}
	for _, ttl := range []time.Duration{10 * time.Millisecond, 24 * time.Hour} {
		if _, err := tenure.New(memory(t), tenure.Options{TTL: ttl}); err != nil {
			t.Errorf("TTL %v: %v", ttl, err)
		}
	}
}

func TestNilStore(t *testing.T) {
	var none *memlock.Store
	for _, store := range []driver.Store{nil, none} {
		if _, err := tenure.New(store, tenure.Options{}); !errors.Is(err, tenure.ErrInvalid) || !strings.Contains(err.Error(), "filelock.Open") {
			t.Errorf("a nil store: %v", err)
		}
	}
}

func TestRequire(t *testing.T) {
	store := memory(t)
	missing := ^store.Info().Guarantees.Promises
	if _, err := tenure.New(store, tenure.Options{Require: missing & tenure.LockSurvivesCrash}); err == nil && missing.Has(tenure.LockSurvivesCrash) {
		t.Error("a store without the promise was taken")
	} else if err != nil && (!errors.Is(err, tenure.ErrUnsupported) || !strings.Contains(err.Error(), "LockSurvivesCrash")) {
		t.Errorf("refused with %v", err)
	}
	if _, err := tenure.New(store, tenure.Options{Require: store.Info().Guarantees.Promises}); err != nil {
		t.Error(err)
	}
}

// fixed is a store whose TTL belongs to its session, and that can do nothing beside exclusive grants.
type fixed struct {
	*memlock.Store
	driver.Local
}

func (f *fixed) Attached() *driver.Local { return &f.Local }
func (f *fixed) Info() driver.Info {
	info := f.Store.Info()
	info.FixedTTL, info.Features = true, 0
	return info
}

func TestStoreThatLacksSomething(t *testing.T) {
	store := &fixed{Store: memory(t)}
	if _, err := tenure.New(store, tenure.Options{TTL: time.Minute}); !errors.Is(err, tenure.ErrInvalid) || !strings.Contains(err.Error(), "belongs to the session") {
		t.Errorf("another TTL: %v", err)
	}
	for _, opts := range []tenure.Options{{MinHold: time.Second}, {OncePer: time.Hour}} {
		if _, err := tenure.New(store, opts); !errors.Is(err, tenure.ErrUnsupported) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
	l := locker(t, store, tenure.Options{})
	for _, unsupported := range []*tenure.Locker{l.Shared(), l.Slots(2)} {
		if _, err := unsupported.Acquire(t.Context(), "x"); !errors.Is(err, tenure.ErrUnsupported) {
			t.Errorf("acquire: %v", err)
		}
	}
}

func TestBadNames(t *testing.T) {
	l := locker(t, memory(t), tenure.Options{})
	for name, says := range map[string]string{
		"":                          "an empty name",
		strings.Repeat("x", 513):    "at most 512",
		"\xff\xfe":                  "valid UTF-8",
		"nul\x00":                   "NUL",
		"nul\x00" + "in the middle": "NUL",
	} {
		for _, try := range []func() (*tenure.Lease, error){
			func() (*tenure.Lease, error) { return l.Acquire(t.Context(), name) },
			func() (*tenure.Lease, error) { return l.TryAcquire(t.Context(), name) },
			func() (*tenure.Lease, error) { return l.Slots(2).Acquire(t.Context(), name) },
			func() (*tenure.Lease, error) { _, err := l.AcquireAll(t.Context(), "fine", name); return nil, err },
		} {
			if _, err := try(); !errors.Is(err, tenure.ErrInvalid) || !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	for _, n := range []int{-1, 0, 1025} {
		if _, err := l.Slots(n).Acquire(t.Context(), "x"); !errors.Is(err, tenure.ErrInvalid) || !strings.Contains(err.Error(), "between 1 and 1024") {
			t.Errorf("%d slots: %v", n, err)
		}
	}
	for _, name := range []string{"../../etc/passwd", "a b\nc", "ünïcödé", strings.Repeat("x", 512), "{a}b", " "} {
		release(t, acquire(t, l, name))
	}
}

// TestH63TokensAreDigits: they exceed 2^53, so JSON carries strings.
func TestH63TokensAreDigits(t *testing.T) {
	fence := tenure.Fence{Name: "x", Token: 1<<62 + 1}
	text, err := json.Marshal(fence)
	if err != nil || string(text) != `{"name":"x","token":"4611686018427387905"}` {
		t.Fatalf("%s, %v", text, err)
	}
	var back tenure.Fence
	if err := json.Unmarshal(text, &back); err != nil || back != fence {
		t.Errorf("%+v, %v", back, err)
	}
	for _, bad := range []string{"", "0", "-1", "1.5", "9223372036854775808", "0x10", " 1", "1e3"} {
		if token, err := tenure.ParseToken(bad); !errors.Is(err, tenure.ErrInvalid) {
			t.Errorf("%q was read as %d: %v", bad, token, err)
		}
	}
}

func TestStaleErrorSaysBothTokens(t *testing.T) {
	err := error(&tenure.StaleError{Fence: tenure.Fence{Name: "x", Token: 7}, Newest: 9})
	for _, said := range []string{"7", "9", "init --above 9"} {
		if !errors.Is(err, tenure.ErrStale) || !strings.Contains(err.Error(), said) {
			t.Errorf("%q does not say %q", err, said)
		}
	}
}
