package schema

// Span is how far a ceiling stands above the grants when it has been set: one durable write for 2^20 of them.
const Span int64 = 1 << 20

// Limit is above every grant.
const Limit int64 = 1 << 55

// Answer is what a statement said of one key.
type Answer struct {
	Number int64 // the grant, or 0: another has it
	High   int64 // the ceiling, as committed by then
}

// Verdict is what to do about an answer.
type Verdict int

const (
	// Granted: the lock is held, and its number may be handed out.
	Granted Verdict = iota
	// Busy: another has the lock.
	Busy
	// AboveCeiling: the lock is held, but its number must not be handed out. Call Raise with Wanted on a connection without
	// locks, then Draw where the lock is held.
	AboveCeiling
)

// Verdict judges the answer.
func (a Answer) Verdict() Verdict {
	switch {
	case a.Number == 0:
		return Busy
	case a.Number > a.High || a.Number >= Limit:
		return AboveCeiling
	}
	return Granted
}

// Wanted is the ceiling to ask Raise for after this answer.
func (a Answer) Wanted() int64 { return a.Number + Span }

// Early says that half of the span is used, so that a Raise with Wanted now spares a caller the wait later.
func (a Answer) Early() bool { return a.Number > 0 && a.High-a.Number < Span/2 }
