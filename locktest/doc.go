// Package locktest proves that a driver keeps what package driver asks of it, alone and with the root package above it.
//
// It is one table of rules. Each is a sentence and a function that returns an error, so the rules can be tested too:
// internal/mutant has, for every one of them, a driver that breaks it by a mistake that a real system made.
//
// A driver's test is a page:
//
//	func TestRules(t *testing.T) {
//		address := startServer(t)
//		locktest.Run(t, locktest.Harness{
//			Open:    func(context.Context) (driver.Store, error) { return reopen(address) },
//			TTL:     time.Second,
//			Address: address,
//			Reopen:  reopen,
//		})
//	}
//
//	// TestMain lets the rules about killed and stopped processes run this test binary again.
//	func TestMain(m *testing.M) { os.Exit(locktest.Main(m, reopen)) }
//
//	func reopen(address string) (driver.Store, error) { return mylock.Open(address, mylock.Options{}) }
//
// Every call of Open must open a session of its own, as another process would. The rules take names that nobody else
// uses, so one store serves all of them at once, also beside other programs.
//
// # Which rules run
//
// Those that apply to what the store says of itself in [driver.Info]. A store with [driver.CanShare] owes the rules of
// the chapter "shared"; one that lacks a feature owes "unsupported" instead. [driver.FirstInFirstOut] brings "wait/order"
// and "wait/barging"; a store without [driver.StalledHolderFreed] must keep the name of a holder that is only stopped.
// Nothing is skipped: a rule that does not apply is not there. [Rule.Applies] tells.
//
// The rules from "locker" on have the root package over the driver. Those that bear it run again with a bad network
// between the two, which loses requests and answers, delays them, and lets a request run after its own clean-up
// (subtests "faults/seed-1/…"): leases must still never overlap in trusted time, tokens must still rise, and every name
// must come free soon after the last caller has left it.
//
// The rules of the chapter "process" run other processes, and kill and stop them by their ids.
//
// # Time
//
// A store in memory runs in testing/synctest bubbles, set by [Harness.Bubble], where two seconds are enough for all of
// it. Other stores run in real time, a dozen rules beside each other. A rule never sleeps to let something happen: it
// looks for the thing itself, and gives up after [Harness.Prompt], which is generous, since a late answer on a busy
// machine is no broken rule. Only rules about time itself let it pass. Where a machine stands still for so long that a
// grant runs out under a rule, the rule begins again or judges by what was trusted, not by what was expected.
package locktest
