package rows

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure/driver"
)

// pgRefusal is an error after which the server goes on: it has undone the whole statement.
type pgRefusal struct{ *pgconn.PgError }

func (r *pgRefusal) Unwrap() error { return r.PgError }

// isForOne says whether the others in the batch may fare better alone: data, deadlocks, rows that are locked, time.
func (r *pgRefusal) isForOne() bool {
	switch r.Code[:min(2, len(r.Code))] {
	case "22", "40", "54", "55", "57":
		return true
	}
	return false
}

// classify makes a fault of a connection that could not be made (sent is zero) or a statement that failed.
//
// What the server refuses with an error it has undone. What ends the connection may have been committed before: even an
// administrator's shutdown can come between the commit and the answer.
func classify(err error, sent driver.Instant) *driver.Fault {
	var fault *driver.Fault
	if errors.As(err, &fault) {
		return fault
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		severity := refused.SeverityUnlocalized
		if severity == "" {
			severity = refused.Severity
		}
		switch {
		case severity == "ERROR" && !sent.IsZero():
			return &driver.Fault{Kind: kindOf(refused), Err: explain(&pgRefusal{refused})}
		case sent.IsZero():
			return &driver.Fault{Kind: kindOf(refused), Err: explain(err)}
		}
		return &driver.Fault{Kind: driver.Unknown, Sent: sent, Err: err}
	}
	if sent.IsZero() || pgconn.SafeToRetry(err) {
		return &driver.Fault{Kind: driver.Passing, Err: err}
	}
	return &driver.Fault{Kind: driver.Unknown, Sent: sent, Err: err}
}

// kindOf tells what passes by itself from what somebody must mend, for something that surely had no effect.
func kindOf(e *pgconn.PgError) driver.Kind {
	if inRecovery(e) {
		return driver.Passing
	}
	switch e.Code {
	case "25006": // read-only: a primary that was demoted, or a standby that will be promoted
		return driver.Passing
	case "08004": // rejected for good by the server; other classes of 08 pass
		return driver.Lasting
	}
	switch class := e.Code[:min(2, len(e.Code))]; class {
	case "0A", // not supported: another kind of database
		"22",             // a name that the database's encoding lacks
		"23",             // a row that somebody else's constraint refuses
		"28",             // who we are
		"3D", "3F", "42": // no such database, schema, table or column; no permission
		return driver.Lasting
	}
	return driver.Passing
}

// inRecovery says whether the server is a standby: it refuses unlogged tables first, and in other words.
func inRecovery(e *pgconn.PgError) bool {
	return e.Code == "0A000" && strings.Contains(e.Message, "during recovery")
}

// wantsAnother says whether another connection may lead to a server that can do it: the new primary.
func wantsAnother(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == "25006" || inRecovery(refused))
}

// explain says what to do about the most likely mistakes.
func explain(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case "42P01", "3F000", "42703":
		return fmt.Errorf("the tables of lease rows are missing or of another version; pglock.Migrate makes them: %w", err)
	case "42501":
		return fmt.Errorf("lease rows need USAGE on the schema tenure, and SELECT, INSERT, UPDATE and DELETE on its tables lease and waiter: %w", err)
	case "25006":
		return fmt.Errorf("the database is read-only, as a standby is: %w", err)
	}
	return err
}

// unanswered is the fault of a caller that did not wait for the answer.
func unanswered(why error, sent driver.Instant) *driver.Fault {
	if sent.IsZero() {
		return &driver.Fault{Kind: driver.Passing, Err: why}
	}
	return &driver.Fault{Kind: driver.Unknown, Sent: sent, Err: why}
}
