package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestNowRisesAndKeepsStep(t *testing.T) {
	before, at := time.Now(), Now()
	for range 1000 {
		next := Now()
		if next < at {
			t.Fatalf("the clock fell from %d to %d", at, next)
		}
		at = next
	}
	if at.IsZero() || time.Since(before) < 0 {
		t.Fatal("no time")
	}
}

func TestNowFollowsFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := Now()
		time.Sleep(90 * time.Minute)
		Look()
		if got := Now().Sub(before); got != 90*time.Minute {
			t.Fatalf("90 minutes of fake time were %v on the clock", got)
		}
	})
}

// TestH10SuspendIsSeen takes away what is known of suspends, as a resume does: the wall clock has moved against the
// monotonic one, and the system then says how long it slept.
func TestH10SuspendIsSeen(t *testing.T) {
	Look()
	defer func(was int64) { asleep.Store(was); offset.Store(0); Look() }(asleep.Load())
	before := Now()
	asleep.Add(-int64(time.Minute)) // as if the last minute of sleep had not been asked for yet
	offset.Add(-int64(time.Minute)) // and the wall clock had moved by it
	if got := Now().Sub(before); got < 0 || got > 30*time.Second {
		t.Fatalf("the clock is %v off after a suspend", got)
	}
}

func BenchmarkNow(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Now()
	}
}
