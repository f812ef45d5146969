// Package txlock is what pglock's transaction locks and those of pglock/sqltx share: the statement, its arguments, and what
// its answers and errors mean.
//
//	err := txlock.Lock(ctx, txlock.Request{Name: "account/7"}, func(statement string, args ...any) (answer string, err error) {
//		err = tx.QueryRow(ctx, statement, args...).Scan(&answer)
//		return answer, err
//	})
package txlock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock/internal/key"
)

//go:embed lock.sql
var source string

// statement is lock.sql without its comments, which would travel with the calls and fill the server's lists of queries.
var statement = strip(source)

func strip(sql string) string {
	var kept strings.Builder
	for line := range strings.Lines(sql) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			kept.WriteString(line)
		}
	}
	return strings.TrimSpace(kept.String())
}

// Request is one lock to take.
type Request struct {
	Name   string
	Try    bool // do not wait
	Shared bool
	// Idle is how long the session may be idle in the transaction from then on, as given by SetIdle.
	Idle Idle
}

// Idle is a limit on idleness. The zero Idle leaves the server's own.
type Idle struct {
	asked bool
	limit time.Duration
}

// SetIdle asks for a limit. Lock says so if it is none that PostgreSQL can keep.
func SetIdle(limit time.Duration) Idle { return Idle{asked: true, limit: limit} }

const longestIdle = math.MaxInt32 * time.Millisecond

// milliseconds is the parameter $5: null if no limit was asked for.
func (i Idle) milliseconds() (any, error) {
	switch {
	case !i.asked:
		return nil, nil
	case i.limit < time.Millisecond || i.limit > longestIdle:
		return nil, fmt.Errorf("%w: a TxTimeout of %v: between 1ms and %v is right; leave the option out for the server's own limit",
			tenure.ErrInvalid, i.limit, longestIdle)
	}
	return i.limit.Milliseconds(), nil // rounded down: never longer than asked for
}

// Lock takes the lock with one call of query, which sends the statement with these arguments and gives its one value. nil:
// the transaction holds it. After any error this call has taken nothing.
func Lock(ctx context.Context, r Request, query func(statement string, args ...any) (string, error)) error {
	k, err := key.Of(r.Name)
	if err != nil {
		return fmt.Errorf("%q: %w: %w", r.Name, tenure.ErrInvalid, err)
	}
	idle, err := r.Idle.milliseconds()
	if err != nil {
		return fmt.Errorf("%q: %w", r.Name, err)
	}
	answer, err := query(statement, arguments(r, k, idle)...)
	if err != nil {
		return failed(ctx, r.Name, err)
	}
	switch answer {
	case "locked":
		return nil
	case "held":
		return &tenure.HeldError{Name: r.Name}
	case "standby":
		return fmt.Errorf("%q: %w: this server is a standby, whose locks exclude nobody on the primary; begin the transaction "+
			"on the primary", r.Name, tenure.ErrUnsupported)
	case "repeatable read", "serializable":
		return fmt.Errorf("%q: %w: the transaction is %s, so what it reads under the lock could be older than the lock; begin it "+
			"with read committed, or take a lease of the name before it begins", r.Name, tenure.ErrInvalid, answer)
	}
	return fmt.Errorf("%q: the server's answer to the lock statement is %q, which it never gives", r.Name, answer)
}

func arguments(r Request, k key.Key, idle any) []any {
	do := "lock "
	if r.Shared {
		do = "share "
	}
	if r.Try {
		do = "try " + do
	}
	if class, object, ok := k.Pair(); ok {
		return []any{do + "int4", nil, class, object, idle}
	}
	n, _ := k.Bigint()
	return []any{do + "bigint", n, nil, nil, idle}
}

// What PostgreSQL's errors are called.
const (
	lockNotAvailable = "55P03"
	deadlockDetected = "40P01"
	failedSQLTx      = "25P02"
)

// failed says what an error of the statement means for the transaction. Both pgx and lib/pq give the code by SQLState.
func failed(ctx context.Context, name string, err error) error {
	var answered interface{ SQLState() string }
	if errors.As(err, &answered) {
		switch answered.SQLState() {
		case lockNotAvailable:
			return fmt.Errorf("%w: the wait has reached lock_timeout, so the transaction is aborted: %w", &tenure.HeldError{Name: name}, err)
		case deadlockDetected:
			return fmt.Errorf("%q: this transaction is a deadlock's victim; roll it back and run all of it again: %w", name, err)
		case failedSQLTx:
			return fmt.Errorf("%q: nothing can be locked after an earlier error of the transaction; roll it back: %w", name, err)
		}
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%q: %w: %w", name, cause, err)
	}
	return fmt.Errorf("%q: %w", name, err)
}
