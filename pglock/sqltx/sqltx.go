// Package sqltx takes PostgreSQL's transaction locks over database/sql, as [github.com/tenurelock/tenure/pglock.LockTx] does
// over pgx, for GORM, sqlx, ent and whatever else gives out its *sql.Tx. It is made for pgx's database/sql driver, and
// imports no driver itself.
//
//	tx, err := db.BeginTx(ctx, nil)
//	…
//	defer tx.Rollback()
//	if err := sqltx.Lock(ctx, tx, "account/7", sqltx.TxTimeout(500*time.Millisecond)); err != nil {
//		return err
//	}
//	… // read, decide, write
//	return tx.Commit()
//
// Names, keys and locks are those of pglock: a lock of sqltx excludes one of pglock, and of plain SQL. A name that stands for
// an existing key is written as such: "pgkey:1001,42" or "pgkey:42".
package sqltx

import (
	"context"
	"database/sql"
	"time"

	"github.com/tenurelock/tenure/pglock/internal/txlock"
)

// Lock takes a lock that is held until the transaction ends, in one round trip, and waits for it in the server's own queue.
//
// After nil the transaction has the lock until COMMIT, which frees it once others see what was written, or ROLLBACK. An error
// in the server aborts the transaction, and frees its locks at once; a savepoint's ROLLBACK TO frees what was taken after the
// savepoint. Lock before the first read that the work relies on.
//
// After any error this call has taken nothing. What else holds:
//
//   - [github.com/tenurelock/tenure.ErrInvalid]: the name can be none, or the transaction is repeatable read or serializable,
//     where what is read next could be older than the lock. It can go on, but its snapshot has been taken: roll it back, and
//     begin it with read committed, or hold a lease while it begins and ends.
//   - [github.com/tenurelock/tenure.ErrUnsupported]: the server is a standby, on which locks exclude nobody. The transaction
//     can go on.
//   - [github.com/tenurelock/tenure.ErrHeld], from Lock: the server's lock_timeout has ended the wait. The transaction is
//     aborted.
//   - SQLSTATE 40P01 in the driver's error: the victim of a deadlock. Roll back and run all of the transaction again.
//   - SQLSTATE 25P02: an earlier error had aborted the transaction.
//   - [sql.ErrTxDone]: the transaction was over.
//   - The error of ctx, which ended during the wait: the driver has closed the connection and asks the server to end the
//     wait, so the transaction is rolled back.
//
// The transaction must be begun by BeginTx and ended by Commit or Rollback. After a COMMIT in Exec there is none, and the
// lock would be free again at once; database/sql does not show that, where pglock sees it.
func Lock(ctx context.Context, tx *sql.Tx, name string, options ...Option) error {
	return lock(ctx, tx, txlock.Request{Name: name}, options)
}

// TryLock is [Lock] without waiting. It answers [github.com/tenurelock/tenure.ErrHeld] when somebody else has the lock; the
// transaction can go on.
func TryLock(ctx context.Context, tx *sql.Tx, name string, options ...Option) error {
	return lock(ctx, tx, txlock.Request{Name: name, Try: true}, options)
}

// LockShared is [Lock] for readers: it is held beside other shared locks of the name, but not beside one of Lock. Who waits
// for that holds back later readers.
func LockShared(ctx context.Context, tx *sql.Tx, name string, options ...Option) error {
	return lock(ctx, tx, txlock.Request{Name: name, Shared: true}, options)
}

// TryLockShared is [LockShared] without waiting, with the errors of [TryLock].
func TryLockShared(ctx context.Context, tx *sql.Tx, name string, options ...Option) error {
	return lock(ctx, tx, txlock.Request{Name: name, Try: true, Shared: true}, options)
}

// Option changes what Lock and its siblings do.
type Option func(*txlock.Request)

// TxTimeout bounds how long a transaction that holds the lock may sit idle between two statements; the server then ends the
// session, so that nothing of the transaction lands and its locks are free. It sets idle_in_transaction_session_timeout for
// the rest of the transaction, once the lock is held, in the same round trip; a shorter limit that is in force stays. The
// wait for the lock and running statements do not count, and neither does a statement of which only a part has reached the
// server. Below 1 ms and above 24 days it is refused with [github.com/tenurelock/tenure.ErrInvalid].
func TxTimeout(limit time.Duration) Option {
	return func(r *txlock.Request) { r.Idle = txlock.SetIdle(limit) }
}

func lock(ctx context.Context, tx *sql.Tx, request txlock.Request, options []Option) error {
	for _, set := range options {
		set(&request)
	}
	return txlock.Lock(ctx, request, func(statement string, args ...any) (answer string, err error) {
		err = tx.QueryRowContext(ctx, statement, args...).Scan(&answer)
		return answer, err
	})
}
