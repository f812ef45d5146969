// Package pglock makes a PostgreSQL database a store of Tenure's: locks and leases across processes, with a fencing token in
// each, in a database that you already run. PostgreSQL 15 or newer.
//
//	store, err := pglock.Open(ctx, "postgres://app@db.example/app", pglock.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close(ctx)
//	locker, err := tenure.New(store, tenure.Options{})
//	if err != nil {
//		return err
//	}
//	defer locker.Close(ctx)
//
//	err = locker.Do(ctx, "report/daily", func(ctx context.Context, lease *tenure.Lease) error {
//		return writeReport(ctx, lease.Fence())
//	})
//
// # Three kinds of lock
//
//   - [LockTx] and its siblings: a lock for one transaction. Take it where the data that it guards is in the same database:
//     lock, read, write and commit together. Nothing is renewed, released or fenced.
//   - Mode [Sessions], the default of [Open] and [New]: advisory locks on connections of the store's own, for work that is not
//     one transaction. The fastest, freed as soon as a process dies, first in, first out. It needs a connection to the server
//     itself, or a pooler of whole sessions.
//   - Mode [Rows]: leases in a table. They work through every pooler, and outlive restarts of the server and connections that
//     break; a killed process's name is free a TTL after its last renewal, and each grant is a durable write.
//
// The first two take the same server's locks, so they exclude each other, and whoever else calls pg_advisory_lock: [Key] and
// [RawKey] name the keys of code that exists already. Rows are a world of their own. In one fleet, use one mode for a name.
//
// # Guarantees
//
//   - Tokens rise with each lease of a name and never repeat: not after a crash of the server, not after a failover, not
//     after a restored dump. Of a failover to a standby that lagged this needs its clock not to be behind the last opening.
//   - A session's locks are freed at once when its process dies, and a TTL after its last word when it stalls or is cut off.
//     Its leases' contexts end before that.
//   - A connection pooler that hands one server session to two clients grants both of them one lock. [New] finds that out,
//     at every reconnect too, and refuses with [ErrPooler].
//   - The connections are the store's own: one, and one more for each busy name that it waits for, bounded. Waiting takes none
//     of the application's pool.
//
// # What it cannot do
//
//   - Session locks end, all at once, with a restart of the server, a failover, or a reset on the path. A holder that does not
//     see the reset trusts its lease up to its deadline, beside a successor. Compare its fence where it writes.
//   - A paused process cannot notice that it is paused; see package tenure.
//   - A step of the server's clock forward frees what was idle early by as much.
//   - A blocked pg_advisory_lock holds back VACUUM for its whole database, and CREATE INDEX CONCURRENTLY waits for it. Waits
//     here last a minute at most and then begin anew; a negative Options.Waits waits by trying instead.
//   - The server has one table for all its locks; Options.MaxLocks bounds our share of it.
//   - A deadlock across two connections of one process is not seen by the server: take several names with AcquireAll.
//
// # What it sets, and makes
//
// On its own connections, whatever the role's settings are: idle_session_timeout and idle_in_transaction_session_timeout to
// the TTL, client_connection_check_interval, TCP keepalives and tcp_user_timeout no shorter than the TTL, statement_timeout,
// lock_timeout and (from 17 on) transaction_timeout, read committed and read-write transactions, synchronous_commit off but
// where a write must last, search_path pg_catalog, and an application_name that says who it is. On transactions that are given to
// LockTx nothing, unless [TxTimeout] asks for it.
//
// In the database: the schema tenure, which New makes or migrates where its role may; otherwise its error says which statements
// an administrator must run. [Migrate] makes it from a deployment, [Grants] gives what a role needs that only locks.
//
// # Looking
//
// [Store.Locks] lists all advisory locks of the database, other programs' too: names, holders and waiters in order, since when,
// and who blocks whom.
//
// # Sources
//
// That these things happen was reproduced on PostgreSQL 15.18, or is in the server's documentation: explicit locking
// (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS), the view pg_locks, and the settings of
// clients' connections. docs/postgres.md has recipes, permissions, monitoring, and what each error means.
package pglock
