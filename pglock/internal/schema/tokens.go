package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Open opens an incarnation unless a valid one is there. The connection must hold no lock.
//
// Nil: a valid one is there, and durable. A *pgconn.PgError: nothing has changed and the connection can be used; [Occupied]
// says whether somebody else is at it. Any other error: the outcome is unknown and the connection is closed. That is what
// the end of ctx does too; the server is never asked to cancel, since a commit that waits for a synchronous standby would
// then become visible without it (H80). So give it a long context: calls are held up only by the end of a short one.
func Open(ctx context.Context, conn *pgx.Conn) error {
	return openSpan(ctx, conn, Span)
}

// openSpan is for tests that want to pass a ceiling.
func openSpan(ctx context.Context, conn *pgx.Conn, span int64) error {
	return uncancelled(ctx, conn, "open an incarnation", fmt.Sprintf("select tenure.open_incarnation(%d)", span))
}

// Raise raises the ceiling to wanted, which is [Answer.Wanted], unless it is there already. The connection must hold no
// lock. Its errors are those of Open.
func Raise(ctx context.Context, conn *pgx.Conn, wanted int64) error {
	return uncancelled(ctx, conn, "raise the ceiling", fmt.Sprintf("select tenure.raise_ceiling(%d)", wanted))
}

// InitAbove makes every later grant greater than the one given, which is a token without its low eight bits. The connection
// must hold no lock, and its role own the schema. Its errors are those of Open; it waits for statements that run, for two
// seconds.
func InitAbove(ctx context.Context, conn *pgx.Conn, grant int64) error {
	return uncancelled(ctx, conn, "raise the tokens", fmt.Sprintf("select tenure.init_above(%d)", grant))
}

// Belongs makes sure that the incarnation, if there is one, is of this cluster and database. To be asked once on every
// connection, before anything is acquired on it: a database that was copied with CREATE DATABASE … TEMPLATE has its
// model's. Where they differ, it opens another. Its errors are those of Open.
func Belongs(ctx context.Context, conn *pgx.Conn) error {
	var belongs bool
	err := conn.QueryRow(ctx, "select tenure.belongs()", pgx.QueryExecModeExec).Scan(&belongs)
	if err != nil {
		return fmt.Errorf("compare the incarnation: %w", err)
	}
	if belongs {
		return nil
	}
	return Open(ctx, conn)
}

// Occupied says whether the error of Open, Raise or InitAbove means "not now": another is at it, and may be for long where a
// synchronous standby is missing, or a dump is being restored into the schema. Try again later.
func Occupied(err error) bool {
	const lockNotAvailable = "55P03"
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == lockNotAvailable || refused.Code == codeRestoring)
}
