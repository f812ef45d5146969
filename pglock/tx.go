package pglock

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock/internal/txlock"
)

// LockTx takes a lock that is held until the transaction ends, in one round trip, and waits for it in the server's own
// queue. Where the guarded data is in the same database this is the simplest lock that is right: lock, read, write and
// commit in one transaction, and there is nothing to renew, to release or to fence.
//
//	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		if err := pglock.LockTx(ctx, tx, "account/7", pglock.TxTimeout(500*time.Millisecond)); err != nil {
//			return err
//		}
//		… // read, decide, write
//	})
//
// After nil the transaction has the lock until COMMIT, which frees it once others see what was written, or ROLLBACK. An error
// in the server aborts the transaction, and frees its locks at once. A savepoint's ROLLBACK TO, with which pgx's nested
// transactions roll back, frees what was taken after the savepoint: where a part of the work may be rolled back alone, lock
// before it. The lock excludes every other transaction and session with the name's key, that of a [Store] in session mode
// or plain SQL included, but not the same connection, which may lock a name again and again.
//
// Lock before the first read that the work relies on. In REPEATABLE READ and SERIALIZABLE the lock's own statement takes the
// snapshot, before its wait, so what is read next could be older than the lock. That is refused with [tenure.ErrInvalid],
// and nothing is locked. The transaction can go on, but its snapshot has been taken: roll it back. Begin it with read
// committed, or hold a lease while it begins and ends.
//
// After any error this call has taken nothing. What else holds:
//
//   - [tenure.ErrUnsupported]: the server is a standby, on which locks exclude nobody. The transaction can go on.
//   - [tenure.ErrHeld], from LockTx: the server's lock_timeout has ended the wait. The transaction is aborted.
//   - SQLSTATE 40P01 in a [github.com/jackc/pgx/v5/pgconn.PgError]: transactions waited for each other, and this one was
//     aborted so that the others go on. Roll it back and run all of it again. It does not happen where all lock several
//     names in the same order, and none shares a lock first and then wants it alone.
//   - SQLSTATE 25P02: an earlier error had aborted the transaction.
//   - [pgx.ErrTxClosed]: the transaction was over.
//   - The error of ctx, which ended during the wait: pgx, unless configured otherwise, has closed the connection and asks the
//     server to end the wait, so the transaction is rolled back. A server that hears of neither goes on waiting, is granted
//     the lock in turn, and has it until TCP or client_connection_check_interval finds the client gone.
//
// The lock needs no session of its own, so it works behind a pooler in transaction mode. It is one prepared statement or
// whatever the connection's [pgx.QueryExecMode] makes of it: a mode that prepares or describes statements does so in a round
// trip of its own, the caching ones once for each connection.
//
// While it waits, the statement has a snapshot: VACUUM cannot remove what died since, and CREATE INDEX CONCURRENTLY waits for
// it. Run under a session lock for which transactions wait, that is a deadlock.
func LockTx(ctx context.Context, tx pgx.Tx, name string, options ...TxOption) error {
	return lockTx(ctx, tx, txlock.Request{Name: name}, options)
}

// TryLockTx is [LockTx] without waiting. It answers [tenure.ErrHeld], in a [tenure.HeldError] that does not know the holder,
// when somebody else has the lock, or waits for it and came first; the transaction can go on.
func TryLockTx(ctx context.Context, tx pgx.Tx, name string, options ...TxOption) error {
	return lockTx(ctx, tx, txlock.Request{Name: name, Try: true}, options)
}

// LockTxShared is [LockTx] for readers: it is held beside other shared locks of the name, but not beside one of LockTx. Who
// waits for that holds back later readers.
func LockTxShared(ctx context.Context, tx pgx.Tx, name string, options ...TxOption) error {
	return lockTx(ctx, tx, txlock.Request{Name: name, Shared: true}, options)
}

// TryLockTxShared is [LockTxShared] without waiting, with the errors of [TryLockTx].
func TryLockTxShared(ctx context.Context, tx pgx.Tx, name string, options ...TxOption) error {
	return lockTx(ctx, tx, txlock.Request{Name: name, Try: true, Shared: true}, options)
}

// TxOption changes what LockTx and its siblings do.
type TxOption func(*txlock.Request)

// TxTimeout bounds how long a transaction that holds the lock may sit idle between two statements, and with that for how
// long a stalled process can hold up others: the server then ends the session, so that nothing of the transaction lands, its
// locks are free, and the late process gets an error from its next statement or from COMMIT. A limit between a fifth of a
// second and a few seconds suits work without calls to other services in it.
//
// It sets idle_in_transaction_session_timeout for the rest of the transaction, once the lock is held, in the same round
// trip. A shorter limit that is in force already stays. The wait for the lock and running statements do not count, which
// transaction_timeout of PostgreSQL 17 would. Nor does a statement of which only a part has reached the server, because its
// sender was stopped in the middle: only TCP's own limits bound that.
//
// The limit is rounded down to milliseconds. Below 1 ms, and above the 24 days that PostgreSQL knows, it is refused with
// [tenure.ErrInvalid] before anything is sent.
func TxTimeout(limit time.Duration) TxOption {
	return func(r *txlock.Request) { r.Idle = txlock.SetIdle(limit) }
}

func lockTx(ctx context.Context, tx pgx.Tx, request txlock.Request, options []TxOption) error {
	for _, set := range options {
		set(&request)
	}
	err := txlock.Lock(ctx, request, func(statement string, args ...any) (answer string, err error) {
		err = tx.QueryRow(ctx, statement, args...).Scan(&answer)
		return answer, err
	})
	if err != nil {
		return err
	}
	if !inTransaction(tx) {
		return fmt.Errorf("%q: %w: the transaction had been ended by a COMMIT or ROLLBACK in Exec, so the lock was free again at "+
			"once; end it with tx.Commit or tx.Rollback", request.Name, tenure.ErrInvalid)
	}
	return nil
}

// inTransaction says whether the server was in a transaction after its last answer. Ask only after a statement of tx has
// succeeded: the connection of a closed one may be somebody else's by now.
func inTransaction(tx pgx.Tx) bool {
	conn := tx.Conn()
	return conn == nil || conn.PgConn().TxStatus() == 'T' // a test's own Tx may have no connection
}
