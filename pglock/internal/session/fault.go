package session

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

func passing(err error) error { return &driver.Fault{Kind: driver.Passing, Err: err} }
func lasting(err error) error { return &driver.Fault{Kind: driver.Lasting, Err: err} }

func isPassing(err error) bool {
	var f *driver.Fault
	return errors.As(err, &f) && f.Kind == driver.Passing
}

func unknown(sent driver.Instant, err error) error {
	return &driver.Fault{Kind: driver.Unknown, Sent: sent, Err: err}
}

func saidFarewell(err error) bool {
	var broken *wire.BrokenError
	return errors.As(err, &broken) && broken.Farewell
}

// fault is what an error of the server, or of a line, means for what was sent then.
func fault(sent driver.Instant, err error) error {
	var known *driver.Fault
	var refused *pgconn.PgError
	var broken *wire.BrokenError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &broken):
		if broken.Farewell || sent.IsZero() {
			return passing(err) // the session is over, and with it whatever it was granted
		}
		return unknown(sent, err)
	case errors.As(err, &refused):
		return refusal(refused)
	}
	return passing(err)
}

// refusal sorts an error that the server answered. What the statement had locked has been given back.
func refusal(err *pgconn.PgError) error {
	switch err.Code {
	case "53200":
		return passing(fmt.Errorf("the server's lock table is full; raise max_locks_per_transaction, or hold fewer advisory locks: %w", err))
	case "42501":
		return lasting(fmt.Errorf("%w; run tenure init, or grant what docs/postgres.md lists", err))
	case "3F000", "42P01", "42883", "42703":
		return lasting(fmt.Errorf("the schema tenure is gone or of another version; run tenure init: %w", err))
	}
	switch err.Code[:2] {
	case "28", "3D": // authentication, no such database
		return lasting(err)
	}
	return passing(err)
}
