package trust

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const second = driver.Instant(time.Second)

// A TTL of 100 s with a tenth of drift and a margin of 5 s: 85 s of trust, renewed each 33.3 s.
var terms = driver.Terms{TTL: 100 * time.Second, Drift: 0.1, Margin: 5 * time.Second}

func start(sent driver.Instant) Trust {
	return Start(terms, driver.Proof{Sent: sent, Valid: terms.TTL})
}

func TestH2TrustCountsFromSending(t *testing.T) {
	trust := start(1000 * second)
	if want := 1085 * second; trust.Until() != want {
		t.Fatalf("trusted until %d, want %d", trust.Until(), want)
	}
	if !trust.Holds(1085*second - 1) {
		t.Error("not trusted just before its deadline")
	}
	if trust.Holds(1085 * second) {
		t.Error("trusted at its deadline")
	}
}

func TestH3GrantThatArrivesTooLateIsNotTrusted(t *testing.T) {
	trust := start(1000 * second)
	if trust.Holds(1200 * second) {
		t.Error("a grant that was answered 200 s after its sending is trusted")
	}
}

func TestH1H8LateRenewalRevivesNothing(t *testing.T) {
	trust := start(1000 * second)
	if trust.Renewed(1086*second, driver.Proof{Sent: 1080 * second, Valid: terms.TTL}) {
		t.Error("a renewal answered after the deadline revived the lease")
	}
	if trust.Holds(1001 * second) {
		t.Error("trust came back")
	}
}

func TestH5FailureKeepsTheDeadlineAndRetriesSoon(t *testing.T) {
	trust := start(1000 * second)
	trust.Sending(1033 * second)
	trust.Failed(1040*second, 0.5)
	if want := 1085 * second; trust.Until() != want {
		t.Errorf("a failed renewal moved the deadline to %d", trust.Until())
	}
	if soon := trust.Due().Sub(1040 * second); soon <= 0 || soon > 10*time.Second {
		t.Errorf("the next try comes after %v", soon)
	}
}

func TestDeadlineOnlyMovesForward(t *testing.T) {
	trust := start(1000 * second)
	if !trust.Renewed(1040*second, driver.Proof{Sent: 1035 * second, Valid: terms.TTL}) {
		t.Fatal("lost by a renewal")
	}
	if want := 1120 * second; trust.Until() != want {
		t.Fatalf("renewed until %d, want %d", trust.Until(), want)
	}
	trust.Renewed(1050*second, driver.Proof{Sent: 1010 * second, Valid: terms.TTL}) // an old answer that came late
	if want := 1120 * second; trust.Until() != want {
		t.Errorf("an old answer moved the deadline back to %d", trust.Until())
	}
	if want := 1020 * second; trust.Due() > 1120*second || trust.Due() < want {
		t.Errorf("due at %d", trust.Due())
	}
}

func TestZeroTrustIsOver(t *testing.T) {
	var trust Trust
	if trust.Holds(1) {
		t.Error("the zero Trust holds")
	}
}

// TestNeverBeyondTheStore runs random schedules against a store that keeps a grant for a TTL from the execution of the
// last renewal, on a clock that runs too fast by the drift: trust must be over first, and never come back.
func TestNeverBeyondTheStore(t *testing.T) {
	for seed := range uint64(20000) {
		random := rand.New(rand.NewPCG(seed, 7))
		ttl := time.Duration(1+random.IntN(1000)) * time.Millisecond
		terms := driver.Terms{TTL: ttl, Drift: 0.16, Margin: ttl / 20}
		storeKeeps := time.Duration(float64(ttl) * 0.85) // the store's fast clock, in our time
		delay := func() time.Duration { return time.Duration(random.Int64N(int64(ttl))) }

		sent := driver.Instant(time.Hour)
		executed := sent.Add(delay())
		freed := executed.Add(storeKeeps)
		now := executed.Add(delay())
		trust, wasOver := Start(terms, driver.Proof{Sent: sent, Valid: ttl}), false
		for range 20 {
			if holds := trust.Holds(now); holds && (!now.Before(freed) || wasOver) {
				t.Fatalf("seed %d: trusted at %d, free since %d, was over: %v", seed, now, freed, wasOver)
			} else if !holds {
				wasOver = true
			}
			sent = now
			trust.Sending(sent)
			executed = sent.Add(delay() / 4)
			ours := executed.Before(freed) // a renewal never creates
			if ours {
				freed = executed.Add(storeKeeps)
			}
			now = executed.Add(delay() / 4)
			if ours && random.IntN(3) > 0 {
				trust.Renewed(now, driver.Proof{Sent: sent, Valid: ttl})
			} else {
				trust.Failed(now, random.Float64())
			}
			now = now.Add(delay() / 8)
		}
	}
}
