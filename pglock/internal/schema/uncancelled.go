package schema

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// uncancelled runs one statement, for whose rows nobody asks, so that the server is never asked to cancel it. Pgx asks on
// every error of a connection; hence this works below it, and on such an error takes the socket away from it.
func uncancelled(ctx context.Context, conn *pgx.Conn, what, sql string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	pg := conn.PgConn()
	if err := pg.SyncConn(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = pg.Conn().SetDeadline(time.Unix(1, 0)) // a socket that cannot take one is closed already
	})
	refused, err := exchange(pg.Frontend(), sql)
	if !stop() {
		<-interrupted
	}
	if err == nil {
		_ = pg.Conn().SetDeadline(time.Time{})
		if refused != nil {
			return fmt.Errorf("%s: %w", what, refused)
		}
		return nil
	}
	if taken, hijackErr := pg.Hijack(); hijackErr == nil {
		_ = taken.Conn.Close()
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("%s: the outcome is unknown: %w", what, err)
}

// exchange sends one statement and reads its answer to the end.
func exchange(front *pgproto3.Frontend, sql string) (refused *pgconn.PgError, err error) {
	front.SendQuery(&pgproto3.Query{String: sql})
	if err := front.Flush(); err != nil {
		return nil, err
	}
	for {
		message, err := front.Receive()
		if err != nil {
			if refused != nil { // the server's farewell, which is not its answer
				err = fmt.Errorf("%w: %s", err, refused.Message)
			}
			return nil, err
		}
		switch m := message.(type) {
		case *pgproto3.ErrorResponse:
			refused = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			return refused, nil
		}
	}
}
