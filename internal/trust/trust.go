// Package trust is the state machine that decides how long a holder may believe that it still holds.
//
// It reads no clock and starts no timer: every instant is passed in. The rules are those of the design: trust runs from
// when the request that proved the grant was sent, never from its answer; a deadline only moves forward; a renewal that
// is answered after the old deadline revives nothing; one that fails proves nothing.
package trust

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

// retries is how many tries of a renewal fit between two regular ones.
const retries = 8

// Trust is what one grant may be trusted for. The zero Trust is over.
type Trust struct {
	terms driver.Terms
	until driver.Instant
	ends  driver.Instant // of the grant itself, if nothing proves it anew
	due   driver.Instant
	every time.Duration
	over  bool
}

// Span is how long a proof is trusted from its sending.
func Span(terms driver.Terms, valid time.Duration) time.Duration {
	return valid - time.Duration(float64(valid)*terms.Drift) - terms.Margin
}

// Interval is how long after its sending a proof is renewed.
func Interval(valid time.Duration) time.Duration { return valid / 3 }

// Start begins with the proof that came with the grant.
func Start(terms driver.Terms, proof driver.Proof) Trust {
	return Trust{
		terms: terms,
		until: proof.Sent.Add(Span(terms, proof.Valid)),
		ends:  proof.Sent.Add(proof.Valid),
		due:   proof.Sent.Add(Interval(proof.Valid)),
		every: Interval(proof.Valid),
	}
}

// Holds says whether the grant is trusted at now. Once it has said no, it always does.
func (t *Trust) Holds(now driver.Instant) bool {
	if !t.over && !now.Before(t.until) {
		t.over = true
	}
	return !t.over
}

// Until is the deadline, as it stands.
func (t *Trust) Until() driver.Instant { return t.until }

// Ends is when the store may pass the name on by itself, at the earliest: some time after the deadline.
func (t *Trust) Ends() driver.Instant { return t.ends }

// Left is the trusted time that remains at now.
func (t *Trust) Left(now driver.Instant) time.Duration {
	if !t.Holds(now) {
		return 0
	}
	return t.until.Sub(now)
}

// Due is when the next renewal should be sent.
func (t *Trust) Due() driver.Instant { return t.due }

// Interval is the time between two renewals.
func (t *Trust) Interval() time.Duration { return t.every }

// Sending notes that a renewal is on its way at now: the next one counts from this one's start.
func (t *Trust) Sending(now driver.Instant) { t.due = now.Add(t.every) }

// Renewed takes the proof of a renewal that was answered at now. It says whether the grant is still trusted: an answer
// that comes after the deadline is too late, whatever it says.
func (t *Trust) Renewed(now driver.Instant, proof driver.Proof) bool {
	if !t.Holds(now) {
		return false
	}
	t.every = Interval(proof.Valid)
	t.due = max(proof.Sent.Add(t.every), now.Add(t.every/retries)) // an old proof is no reason to ask without a pause
	if until := proof.Sent.Add(Span(t.terms, proof.Valid)); t.until.Before(until) {
		t.until, t.ends = until, proof.Sent.Add(proof.Valid)
	}
	return true
}

// Failed notes at now that a renewal proved nothing: the deadline stays, and the next try comes soon. Chance, between 0
// and 1, spreads the tries of many holders.
func (t *Trust) Failed(now driver.Instant, chance float64) {
	pause := t.every / retries
	t.due = now.Add(pause/2 + time.Duration(chance*float64(pause)))
}
