package driver

import "strings"

// Guarantee is one promise that a program can require of a store.
type Guarantee uint16

const (
	// FencingSurvivesCrash: tokens neither repeat nor fall after a crash of the store.
	FencingSurvivesCrash Guarantee = 1 << iota
	// FencingSurvivesFailover: nor after a failover to a replica that lags.
	FencingSurvivesFailover
	// LockSurvivesCrash: a crash of the store frees no lock that is held and trusted.
	LockSurvivesCrash
	// LockSurvivesFailover: nor does a failover.
	LockSurvivesFailover
	// StalledHolderFreed: a holder that is stopped loses the name in bounded time.
	StalledHolderFreed
	// FirstInFirstOut: waiters of different processes are granted in the order of their asking.
	FirstInFirstOut
)

var guaranteeNames = []struct {
	bit  Guarantee
	name string
}{
	{FencingSurvivesCrash, "FencingSurvivesCrash"},
	{FencingSurvivesFailover, "FencingSurvivesFailover"},
	{LockSurvivesCrash, "LockSurvivesCrash"},
	{LockSurvivesFailover, "LockSurvivesFailover"},
	{StalledHolderFreed, "StalledHolderFreed"},
	{FirstInFirstOut, "FirstInFirstOut"},
}

// Has says whether all of want are there.
func (g Guarantee) Has(want Guarantee) bool { return g&want == want }

// String lists the names, joined by "|"; "none" for no bit.
func (g Guarantee) String() string {
	var names []string
	for _, known := range guaranteeNames {
		if g.Has(known.bit) {
			names = append(names, known.name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "|")
}

// Guarantees says what a store's word is worth, for code, for the command, and for the table in docs/guarantees.md,
// which is made from it. Each cell is a sentence of a few words.
type Guarantees struct {
	// Promises are those that a program can require.
	Promises Guarantee
	// KilledHolder and StalledHolder say who frees the name of a holder that was killed or stopped, and when.
	KilledHolder, StalledHolder string
	// Crash, Restart, Failover and ClockStep say what each does to a lock and to the tokens.
	Crash, Restart, Failover, ClockStep Effect
	// Order is in which order waiters of different processes are granted.
	Order string
	// PerHolder and PerWaiter count connections (or descriptors).
	PerHolder, PerWaiter string
	// Limits are what is not promised, each a sentence.
	Limits []string
}

// Effect is what an event does.
type Effect struct{ Lock, Token string }
