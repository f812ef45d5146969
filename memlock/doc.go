// Package memlock is a store inside one process: names, leases, queues and fencing tokens in memory.
//
// It is for programs whose parts must exclude each other and want leases and tokens for it, and above all for tests: of
// Tenure, and of programs that use it. Nothing runs beside it. It keeps no goroutine, reads no clock but that of package
// time, and so works under testing/synctest, where a test of a lease of 30 seconds takes no time at all:
//
//	synctest.Test(t, func(t *testing.T) {
//		store := memlock.New(memlock.Options{})
//		defer store.Close(t.Context())
//		locker, err := tenure.New(store, tenure.Options{})
//		…
//		store.Lose("report/daily") // the lease's context ends now, with cause tenure.ErrLost
//	})
//
// Use a store inside one bubble only: its waits belong to that bubble, and so does its time.
//
// [New] gives a session on a fresh memory. [Store.Session] opens another one on the same memory, as another process
// would: that is how to test two processes in one. [Store.Lose] and [Store.LoseQuietly] take a lease away.
//
// # What it promises
//
// It has all that a store can have: exclusive and shared grants, slots, OncePer and Gap. Waiters are granted in the order
// of their asking; a writer that waits holds back later readers, and nobody who only tries passes somebody who waits.
// Time runs out for a holder a TTL after its last renewal; then its name passes to the first waiter at once.
// A name's numbers rise for as long as the process lives, and go on above the clock after it. What it cannot do is in
// [driver.Guarantees.Limits]; first of all, it excludes nobody outside the process.
package memlock
