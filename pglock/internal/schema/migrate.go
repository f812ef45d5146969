package schema

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed sql/*.sql
var files embed.FS

// lockKey is the transaction advisory lock under which migrations run: the bytes "tenure", 0, 1. No name of a lock has a
// good chance of it.
const lockKey int64 = 0x74656e7572650001

// SQLSTATEs of ours.
const (
	codeNewer     = "TN001" // the script refuses a schema that is newer than itself
	codeRestoring = "TN002" // begin_change refuses a schema that a dump is being restored into
)

// Migrate brings the schema to this program's version, and makes it if need be. Any number of processes may run it at once.
// It is one message of one transaction and leaves no state on the connection, so that it works through poolers too. After an
// error nothing has changed, unless the connection broke and the outcome is unknown: then run it again. The error is an
// *[Error] where the schema is newer than the program.
func Migrate(ctx context.Context, conn *pgx.Conn) error {
	script, err := script()
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "set transaction isolation level read committed read write;\n"+script, pgx.QueryExecModeSimpleProtocol)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == codeNewer {
		return newer(refused.Detail)
	}
	if err != nil {
		return fmt.Errorf("migrate schema tenure: %w", err)
	}
	return nil
}

// Script is what Migrate runs, for an administrator's psql. It may be run again, on any version.
func Script() (string, error) {
	script, err := script()
	return "begin isolation level read committed read write;\n" + script + "commit;\n", err
}

func newer(version string) *Error {
	return &Error{Reason: Newer, Message: fmt.Sprintf("schema tenure has version %s, which this program does not know: "+
		"upgrade the program", version)}
}

// migration is one step: its number and its statements.
type migration struct {
	version int
	sql     string
}

// migrations gives all steps in order. Their files are named by their number.
func migrations() ([]migration, error) {
	names, err := fs.Glob(files, "sql/[0-9]*.sql")
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "sql/"), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version, string(text)})
	}
	return all, nil
}

// script is the statements of one transaction that begins with it. Each step is skipped where it has run.
func script() (string, error) {
	steps, err := migrations()
	if err != nil {
		return "", err
	}
	var s strings.Builder
	// Found by an unqualified name is what PostgreSQL has, whatever the role's search_path.
	fmt.Fprintf(&s, `select set_config('search_path', 'pg_catalog, pg_temp', true), pg_advisory_xact_lock(%d);
do $tenure$
declare
    known constant int := %d;
    found int;
begin
    if to_regnamespace('tenure') is null then
        create schema tenure;
    end if;
    if not exists (select from pg_class where relnamespace = to_regnamespace('tenure') and relname = 'migration') then
        create table tenure.migration (version int primary key, at timestamptz not null default now());
    end if;
    select max(version) into found from tenure.migration;
    if found > known then
        raise exception 'schema tenure is newer than this program' using errcode = '%s', detail = found::text;
    end if;
end
$tenure$;
`, lockKey, steps[len(steps)-1].version, codeNewer)
	for _, step := range steps {
		fmt.Fprintf(&s, `do $tenure$
begin
    if not exists (select from tenure.migration where version = %[1]d) then
        execute $step$
%[2]s$step$;
        insert into tenure.migration (version) values (%[1]d);
    end if;
end
$tenure$;
`, step.version, step.sql)
	}
	return s.String(), nil
}
