package session

import (
	"context"
	"embed"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/pglock/internal/schema"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// waits are the statements that wait, by the form of the lock.
var waits = [...]string{"wait", "wait_shared", "wait_pair", "wait_pair_shared"}

// short are the statements that fit on a line, and those of the schema.
var short = map[string]string{
	"lock":             schema.Acquire,
	"draw":             schema.Draw,
	"numbers":          schema.Numbers,
	"sweep":            schema.Sweep,
	"wait":             waitingFor("pg_advisory_lock($1::bigint)"),
	"wait_shared":      waitingFor("pg_advisory_lock_shared($1::bigint)"),
	"wait_pair":        waitingFor("pg_advisory_lock(($1::bigint >> 32)::int4, (($1::bigint << 32) >> 32)::int4)"),
	"wait_pair_shared": waitingFor("pg_advisory_lock_shared(($1::bigint >> 32)::int4, (($1::bigint << 32) >> 32)::int4)"),
}

// waitingFor numbers what was waited for, from the sequence $2, in the same statement. Only a branch of CASE waits for its
// condition, which is never null. It reads no table: a snapshot from before the wait would show the ceiling as it was then. It
// does not tell the time: between one hand-off and the next everything counts.
func waitingFor(lock string) string {
	return "select case when " + lock + " is null then 0 else nextval($2::oid::regclass) end"
}

// mainOnly are the statements that a line does not need which only waits, and holds what it waited for.
var mainOnly = []string{
	"lock", "lock_many", "lock_plain", "lock_again", "lock_slot", "who", "waiting", "stuck", "stuck_holder", "cancel", "ghost", "last_run",
	"sweep", "tidy_names",
}

// prepare prepares the statements of a line on its new connection, in one exchange.
func prepare(ctx context.Context, conn *pgx.Conn, extra bool) error {
	statements, err := statements()
	if err != nil {
		return err
	}
	maps.DeleteFunc(statements, func(name, _ string) bool {
		waits := strings.HasPrefix(name, "wait") && name != "waiting"
		return extra && slices.Contains(mainOnly, name) || !extra && waits
	})
	pipeline := conn.PgConn().StartPipeline(ctx)
	for name, text := range statements {
		pipeline.SendPrepare(name, text, nil)
	}
	if err := pipeline.Sync(); err != nil {
		return errors.Join(err, pipeline.Close())
	}
	for range statements {
		if _, err := pipeline.GetResults(); err != nil {
			return errors.Join(err, pipeline.Close())
		}
	}
	return pipeline.Close()
}

func statements() (map[string]string, error) {
	found := make(map[string]string, len(short)+20)
	for name, text := range short {
		found[name] = text
	}
	files, err := sqlFiles.ReadDir("sql")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := sqlFiles.ReadFile("sql/" + file.Name())
		if err != nil {
			return nil, err
		}
		found[strings.TrimSuffix(file.Name(), ".sql")] = string(text)
	}
	return found, nil
}
