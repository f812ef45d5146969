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

// Numbering is what a connection must know before its first lock.
type Numbering struct {
	// Sequence is the oid that Acquire and Draw take: one that was made anew since has another, and they fail.
	Sequence uint32
	// High is the ceiling, as committed: a number above it is void.
	High int64
}

// Number makes sure that numbers may be drawn, on a connection that holds no lock yet: the incarnation must be one of this
// start of the server, of this cluster, this database and this sequence. Where there is none, it opens one. It is to be
// asked once on every connection, and again after Acquire or Draw has failed on it. Its errors are those of Open.
func Number(ctx context.Context, conn *pgx.Conn) (Numbering, error) {
	return numberSpan(ctx, conn, Span)
}

func numberSpan(ctx context.Context, conn *pgx.Conn, span int64) (Numbering, error) {
	for opened := false; ; opened = true {
		n, err := Look(ctx, conn)
		switch {
		case err != nil || n.Sequence != 0:
			return n, err
		case opened:
			return n, errors.New("an incarnation was opened, and is not valid: is a dump being restored?")
		}
		if err := openSpan(ctx, conn, span); err != nil {
			return n, err
		}
	}
}

// Look is Number without an opening: the numbering is zero where it is not valid.
func Look(ctx context.Context, conn *pgx.Conn) (Numbering, error) {
	var valid bool
	var sequence *uint32
	var high int64
	err := conn.QueryRow(ctx, Numbers, pgx.QueryExecModeExec).Scan(&valid, &sequence, &high)
	switch {
	case err != nil:
		return Numbering{}, fmt.Errorf("read the numbering of grants: %w", err)
	case !valid || sequence == nil:
		return Numbering{}, nil
	}
	return Numbering{Sequence: *sequence, High: high}, nil
}

// Occupied says whether the error of Open, Raise or InitAbove means "not now": another is at it, and may be for long where a
// synchronous standby is missing, or a dump is being restored into the schema. Try again later.
func Occupied(err error) bool {
	const lockNotAvailable = "55P03"
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == lockNotAvailable || refused.Code == codeRestoring)
}
