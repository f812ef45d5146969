package companion

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

// TestCompanionsStayTheSame: processes of different releases must find each other's queue.
func TestCompanionsStayTheSame(t *testing.T) {
	t.Parallel()
	for lock, want := range map[string]string{
		"report/daily":  "{report/daily}:tenure1:queue",
		"a{b":           "{a{b}:tenure1:queue",
		"{x}":           "{x}:tenure:queue",
		"a{b}c":         "a{b}c:tenure:queue",
		"a}b":           "{4w2}a}b:tenure2:queue",
		"}":             "{exv}}:tenure2:queue",
		"{4w2}a}b":      "{4w2}a}b:tenure:queue",
		"{x}:tenure":    "{x}:tenure:tenure:queue",
		"x:tenure1":     "{x:tenure1}:tenure1:queue",
		"}:tenure2:not": "{803}}:tenure2:not:tenure2:queue",
	} {
		if got := Of(lock, Queue); got != want {
			t.Errorf("the queue of %q is %q instead of %q", lock, got, want)
		}
	}
	// The words, each with a newline. Python finds the same with binascii.crc_hqx(word, 0) % 16384.
	sum := sha256.Sum256([]byte(strings.Join(words()[:], "\n") + "\n"))
	if got := hex.EncodeToString(sum[:]); got != "310d5916719b3a0ad22a1c3725c8e111862ca55941e8ff28af8ce3a745e2b88c" {
		t.Errorf("the words have the sum %s", got)
	}
}

// TestOfAllocatesItsResult, and no more.
func TestOfAllocatesItsResult(t *testing.T) {
	for _, name := range []string{"report/daily", "{report}/daily", "a}b"} {
		if got := testing.AllocsPerRun(100, func() { _ = Of(name, Queue) }); got > 1 {
			t.Errorf("%q: %v allocations", name, got)
		}
	}
}

func BenchmarkOf(b *testing.B) {
	for form, name := range map[string]string{"wrapped": "report/daily", "tagged": "{report}/daily", "borrowed": "a}b"} {
		b.Run(form, func(b *testing.B) {
			b.ReportAllocs()
			_ = Of(name, Queue) // the words are found once
			for b.Loop() {
				_ = Of(name, Queue)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = Check("report/daily")
	}
}

// BenchmarkWords is what the first name costs that no tag can hold.
func BenchmarkWords(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = findWords()
	}
}
