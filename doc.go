// Package tenure lets many processes agree that only one of them does a thing at a time, over a store that they already
// run, and tells the protected resource who came last.
//
//	store, err := filelock.Open(dir, filelock.Options{})
//	locker, err := tenure.New(store, tenure.Options{})
//
//	err = locker.Do(ctx, "report/daily", func(ctx context.Context, lease *tenure.Lease) error {
//		return writeReport(ctx, lease.Fence())
//	})
//
// # Guarantees
//
// While the store keeps its word ([Guarantees] says what each store's word is worth):
//
//   - Two leases of one name never overlap in trusted time. A lease's context ends, with cause [ErrLost], before the store
//     can pass the name on.
//   - Every lease has a fencing token that rises with each lease of the name, so that a guard at the resource can refuse
//     whoever came before.
//   - Waiting and holding are separate: the context of [Locker.Acquire] bounds the wait, never the hold.
//   - Whatever was asked of the store and not answered is cleaned up. No name stays taken behind a cancelled or failed
//     call while the process lives.
//   - [Locker.Do] never returns nil after a loss.
//
// # What this cannot do
//
//   - A paused process cannot notice that it is paused. When it wakes, its lease's context is over, but an instruction that
//     was already past the check still runs, beside a successor. Only a guard at the resource closes that gap: it compares
//     [Lease.Fence] with the highest token that it has seen. Where the resource cannot check, no lock is strict.
//   - A hypervisor that stops every clock of a guest (a live snapshot, a migration) hides the time from trust, too.
//   - A deadlock of callers that hold one name while they acquire another by hand is theirs to avoid; [Locker.AcquireAll]
//     takes several in one order.
//   - A lock that only saves work needs none of this: a duplicate is a nuisance there. A lock that keeps data correct needs
//     the guard all the same.
//
// # Leases
//
// A [Lease] is one acquisition. It is renewed behind the scenes at a third of its TTL, until it is released or lost; it is
// never re-entrant and never revived. Work that lost its lease is not tried again under the old token: it is acquired anew,
// or left to the successor. Giving up has an order: cancel the work, join it, then release. [Locker.Do] keeps it.
//
// [Locker.Shared] makes readers of leases, [Locker.Slots] a bounded number of holders, [Locker.AcquireAll] takes several
// names, [Locker.With] changes options.
//
// # In one process
//
// Callers of one name in one process wait in one queue, first in first out, and only the head asks the store. A release
// with a caller behind it hands the grant on with the next token, which costs no round trip; after 255 of those, or 10 ms,
// the name goes back to the store, so that other processes are not starved.
package tenure
