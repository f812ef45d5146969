package schema

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestH80SynchronousStandbyLost: who raises the ceiling waits for the standby, and may give up; the others hear "not now"
// within seconds; nobody sees a ceiling that the standby lacks; and all goes on when it is back.
func TestH80SynchronousStandbyLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, mutant{})
	standby := w.server.Standby(t, servers.PostgresOptions{})
	must(t, standby.Synchronous())
	must(t, w.crowd(100))
	high := w.server.SQL(t, w.database, "select high from tenure.ceiling")

	must(t, standby.Stop("immediate"))
	raiser := w.dial()
	wanted := w.draw().Number + Span
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := Raise(ctx, raiser, wanted)
	if !errors.Is(err, context.DeadlineExceeded) || Occupied(err) || !raiser.IsClosed() {
		t.Fatalf("raising without the standby: %v, closed: %v; it must wait, and be abandoned", err, raiser.IsClosed())
	}
	other := w.dial()
	if err := Raise(t.Context(), other, wanted); !Occupied(err) {
		t.Fatalf("raising behind it: %v; it must hear that another is at it", err)
	}
	if other.IsClosed() {
		t.Fatal("the connection of one that heard so is closed")
	}
	if got := w.server.SQL(t, w.database, "select high from tenure.ceiling"); got != high {
		t.Fatalf("the ceiling rose from %s to %s without the standby", high, got)
	}
	w.drawSome(100) // what is below the ceiling goes on

	must(t, standby.Start())
	must(t, retried(t.Context(), func() error { return Raise(t.Context(), other, wanted) }))
	if a := w.draw(); a.High < wanted {
		t.Fatalf("the ceiling is at %d, after it was raised to %d", a.High, wanted)
	}
	w.drawSome(100)
	must(t, w.server.Kill())
	must(t, standby.Promote())
	w.server = standby
	must(t, w.crowd(100))
}

// TestCommitIsStrongEnough: whatever the session asks for, an opening waits for the log. This is the setting as it is at the
// commit, after functions with SET clauses have ended.
func TestCommitIsStrongEnough(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	conn := dial(t, url)
	for asked, want := range map[string]string{"off": "local", "local": "local", "on": "on", "remote_apply": "remote_apply"} {
		for _, call := range []string{"open_incarnation()", "raise_ceiling(5)", "init_above(5)"} {
			var atCommit, after string
			_, err := conn.Exec(t.Context(), "set synchronous_commit = "+asked+"; begin; select tenure."+call)
			must(t, err)
			must(t, conn.QueryRow(t.Context(), "show synchronous_commit").Scan(&atCommit))
			_, err = conn.Exec(t.Context(), "commit")
			must(t, err)
			must(t, conn.QueryRow(t.Context(), "show synchronous_commit").Scan(&after))
			if atCommit != want || after != asked {
				t.Errorf("%s with %s commits with %s, want %s; then the session has %s", call, asked, atCommit, want, after)
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func dial(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone
	return conn
}

func (w *world) dial() *pgx.Conn { return dial(w.t, w.server.URL(w.database)) }

// draw draws a number that nobody is handed.
func (w *world) draw() Answer {
	w.t.Helper()
	conn := w.dial()
	numbering, err := Number(w.t.Context(), conn)
	must(w.t, err)
	return drawOn(w.t, conn, numbering)
}

func drawOn(t testing.TB, conn *pgx.Conn, numbering Numbering) (a Answer) {
	t.Helper()
	must(t, conn.QueryRow(t.Context(), Draw, numbering.Sequence).Scan(&a.Number, nil, &a.High))
	return a
}

// drawSome notes grants of one connection.
func (w *world) drawSome(count int) {
	w.t.Helper()
	conn := w.dial()
	numbering, err := Number(w.t.Context(), conn)
	must(w.t, err)
	for range count {
		sent := w.now()
		a := drawOn(w.t, conn, numbering)
		if a.Verdict() != Granted {
			w.t.Fatalf("a draw gave %+v", a)
		}
		w.add(grant{a.Number, sent, w.now()})
	}
}

// migrated is a database of the shared server with the schema.
func migrated(t testing.TB) string {
	t.Helper()
	url := shared.Database(t)
	must(t, Migrate(t.Context(), dial(t, url)))
	return url
}
