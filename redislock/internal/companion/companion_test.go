package companion

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestChecksum: the check value of CRC-16/XMODEM, and slots that the specification and redis-cli give.
func TestChecksum(t *testing.T) {
	t.Parallel()
	if sum := checksum("123456789"); sum != 0x31c3 {
		t.Errorf("%#x instead of 0x31c3", sum)
	}
	for key, want := range map[string]uint16{
		"foo": 12182, "{user1000}.following": Slot("user1000"), "foo{}{bar}": checksum("foo{}{bar}") % Slots, "foo{{bar}}zap": Slot("{bar"),
		"foo{bar}{zap}": Slot("bar"),
	} {
		if got := Slot(key); got != want {
			t.Errorf("%q is in slot %d instead of %d", key, got, want)
		}
	}
}

// nasty are names that have been put into the wrong slot, or have overwritten another one's keys.
var nasty = []string{
	"a", "x", "{x}", "a}b", "a{}b", "{}x", "}", "{", "{}", "}{", "a{b", "{a}b", "{a}{b}", "a{}{b}", "{{x}}", "x:queue", "{x}:queue", "{x}:tenure", "é{ü}",
	"a b", "\x00", "{x}:tenure1", "a:tenure2", "0", "{0}a}b", "a}b:tenure2", "{x}y}z",
}

// random makes a name out of the bytes that matter, and a few others.
func random(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(8) {
		b.WriteString([]string{"{", "}", "a", "b", ":", "tenure", "queue", ":tenure:", "1", "\xff", "{}"}[r.IntN(11)])
	}
	return b.String()
}

// TestH75CompanionsAreApart: no two locks share a companion, none is a lock's own key, and all are in the lock's slot.
func TestH75CompanionsAreApart(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, name := range nasty {
		names[name] = true
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		names[random(r)] = true
	}
	whose := make(map[string]string)
	for name := range names {
		if Check(name) != nil {
			continue
		}
		for _, kind := range kinds {
			key := Of(name, kind)
			if Slot(key) != Slot(name) {
				t.Fatalf("%q in slot %d has a companion %q in slot %d", name, Slot(name), key, Slot(key))
			}
			if other, taken := whose[key]; taken {
				t.Fatalf("%q and %q share %q", name, other, key)
			}
			if whose[key] = name; Check(key) == nil {
				t.Fatalf("%q, a companion of %q, could be a lock", key, name)
			}
		}
	}
}

// TestCheck: the error says what would be right.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "empty", strings.Repeat("x", longest+1): "at most 1024", "x:tenure:queue": "any other end", "{x}:tenure1:slot-ran": "any other end",
		"tenure:suspect:1": "any other beginning",
	} {
		if err := Check(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", name, err)
		}
	}
	for _, name := range append([]string{strings.Repeat("x", longest)}, nasty...) {
		if err := Check(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
