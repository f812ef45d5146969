package schema

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// oldest is the oldest PostgreSQL that has unlogged sequences.
const oldest = 150000

// Check looks whether the schema is there in this program's version, on a server that can lock, and whether this role may
// run all that the statements do. It changes nothing. The error is an *[Error], unless the server did not answer.
func Check(ctx context.Context, conn *pgx.Conn) error {
	f, err := readFacts(ctx, conn)
	if err != nil {
		return fmt.Errorf("check schema tenure: %w", err)
	}
	if refusal := f.refusal(); refusal != nil {
		return refusal
	}
	steps, err := migrations()
	if err != nil {
		return err
	}
	if f.mayRead && f.mayUse {
		if refusal, err := f.checkVersion(ctx, conn, steps); refusal != nil || err != nil {
			return either(refusal, err)
		}
	}
	refusal, err := f.checkRights(ctx, conn)
	if refusal == nil && err == nil {
		refusal, err = checkPersistence(ctx, conn)
	}
	return either(refusal, err)
}

// Ensure is Check, and Migrate where that helps and this role may run it. After an error that is an *[Error], its SQL is
// what an administrator must run, if anything helps.
func Ensure(ctx context.Context, conn *pgx.Conn) error {
	err := Check(ctx, conn)
	var refusal *Error
	if !errors.As(err, &refusal) || !refusal.curable {
		return err
	}
	if err := Migrate(ctx, conn); err != nil {
		return err
	}
	return Check(ctx, conn)
}

// either keeps a nil *Error from becoming an error.
func either(refusal *Error, err error) error {
	if refusal != nil {
		return refusal
	}
	if err != nil {
		return fmt.Errorf("check schema tenure: %w", err)
	}
	return nil
}

// facts is what facts.sql gives.
type facts struct {
	number                   int
	version                  string
	recovery                 bool
	readOnly                 bool
	readOnlyBy               string
	role, database           string
	mayCreateSchema          bool
	there, mayUse, mayCreate bool
	migrated, mayRead, owned bool
	owner                    string
}

func readFacts(ctx context.Context, conn *pgx.Conn) (f facts, err error) {
	err = conn.QueryRow(ctx, statement("facts"), pgx.QueryExecModeExec).Scan(&f.number, &f.version, &f.recovery, &f.readOnly,
		&f.readOnlyBy, &f.role, &f.database, &f.mayCreateSchema, &f.there, &f.mayUse, &f.mayCreate, &f.migrated, &f.mayRead,
		&f.owned, &f.owner)
	return f, err
}

// refusal is what follows from the facts alone.
func (f facts) refusal() *Error {
	switch {
	case f.number < oldest:
		return &Error{Reason: TooOld, Message: fmt.Sprintf("the server is PostgreSQL %s; tokens need version 15 or newer, "+
			"which has unlogged sequences", f.version)}
	case f.recovery:
		return &Error{Reason: Standby, Message: "the server is a standby, which would grant locks that its primary grants " +
			"too: connect to the primary (or name all hosts in the URL, with target_session_attrs=read-write, which finds it)"}
	case f.readOnly && !ours(f.readOnlyBy):
		e := &Error{Reason: ReadOnly, Message: fmt.Sprintf("database %q is read-only (default_transaction_read_only is on, "+
			"set by the %s), and every acquisition writes", f.database, f.readOnlyBy)}
		if f.readOnlyBy == "database" {
			e.SQL = "ALTER DATABASE " + quoted(f.database) + " RESET default_transaction_read_only;"
		}
		return e
	case !f.there:
		return &Error{Reason: Missing, Message: fmt.Sprintf("schema tenure is missing in database %q, and role %q may not make it "+
			"(to let it lock and no more, run tenure init --role %[2]s as a role that may)", f.database, f.role), SQL: "CREATE SCHEMA tenure AUTHORIZATION " + quoted(f.role) + ";", curable: f.mayCreateSchema}
	case !f.migrated:
		return f.outdated(0)
	}
	return nil
}

// ours says whether a setting is our own role's or session's, which the connection overrides with SET, and not a decision
// about the database or the server.
func ours(source string) bool {
	switch source {
	case "user", "database user", "client", "session":
		return true
	}
	return false
}

func (f facts) outdated(version int) *Error {
	script, err := Script()
	if err != nil { // embedded files: the tests read them all
		script = "-- " + err.Error()
	}
	e := &Error{Reason: Outdated, SQL: script, curable: f.mayUse && f.mayCreate && f.owned}
	switch {
	case version > 0:
		e.Message = fmt.Sprintf("schema tenure has version %d, which is older than this program: run tenure init as its owner %q",
			version, f.owner)
	case f.mayUse && f.mayCreate:
		e.Message = "schema tenure is empty: run tenure init"
	default:
		e.Message = fmt.Sprintf("schema tenure is empty, and role %q may not fill it", f.role)
		e.SQL = "GRANT USAGE, CREATE ON SCHEMA tenure TO " + quoted(f.role) + ";"
	}
	return e
}

// checkVersion compares the steps that have run with those that are known.
func (f facts) checkVersion(ctx context.Context, conn *pgx.Conn, steps []migration) (*Error, error) {
	rows, err := conn.Query(ctx, "select version from tenure.migration", pgx.QueryExecModeExec)
	if err != nil {
		return nil, err
	}
	ran, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return nil, err
	}
	done := make(map[int]bool, len(ran))
	last := 0
	for _, version := range ran {
		done[version], last = true, max(last, version)
	}
	if last > steps[len(steps)-1].version {
		return newer(strconv.Itoa(last)), nil
	}
	for _, step := range steps {
		if !done[step.version] {
			return f.outdated(last), nil
		}
	}
	return nil, nil
}

// checkRights names what the role lacks, all at once.
func (f facts) checkRights(ctx context.Context, conn *pgx.Conn) (*Error, error) {
	var kinds, names, privileges []string
	var asked []right
	for _, r := range rights() {
		for _, privilege := range r.privileges {
			kinds, names, privileges = append(kinds, r.kind), append(names, r.name), append(privileges, privilege)
			asked = append(asked, right{r.kind, r.name, r.arguments, []string{privilege}})
		}
	}
	rows, err := conn.Query(ctx, statement("rights"), pgx.QueryExecModeExec, kinds, names, privileges)
	if err != nil {
		return nil, err
	}
	var lacking, gone []right
	var place int
	var has *bool
	_, err = pgx.ForEachRow(rows, []any{&place, &has}, func() error {
		switch r := asked[place-1]; {
		case has == nil:
			gone = append(gone, r)
		case !*has:
			lacking = append(lacking, r)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(gone) > 0 && f.mayUse && f.mayRead:
		return &Error{Reason: Damaged, Message: fmt.Sprintf("%s tenure.%s is missing, although its migration has run: drop "+
			"the schema and run tenure init --above the highest token in use", strings.ToLower(gone[0].kind), gone[0].name)}, nil
	case len(lacking) == 0 && f.mayUse:
		return nil, nil
	}
	statements := missing(f.role, lacking)
	if !f.mayUse {
		statements = strings.TrimSpace("GRANT USAGE ON SCHEMA tenure TO " + quoted(f.role) + ";\n" + statements)
	}
	return &Error{Reason: Permission, Message: fmt.Sprintf("role %q lacks rights on schema tenure", f.role), SQL: statements}, nil
}

// checkPersistence looks for an ALTER that took from the tokens what they stand on.
func checkPersistence(ctx context.Context, conn *pgx.Conn) (*Error, error) {
	rows, err := conn.Query(ctx, statement("persistence"), pgx.QueryExecModeExec)
	if err != nil {
		return nil, err
	}
	var name string
	var right bool
	var wrong []string
	_, err = pgx.ForEachRow(rows, []any{&name, &right}, func() error {
		if !right {
			wrong = append(wrong, map[string]string{
				"ceiling":     "ALTER TABLE tenure.ceiling SET LOGGED;",
				"incarnation": "ALTER TABLE tenure.incarnation SET UNLOGGED;",
				"grants":      "ALTER SEQUENCE tenure.grants SET UNLOGGED;\nALTER SEQUENCE tenure.grants CACHE 1 INCREMENT 1 NO CYCLE;",
			}[name])
		}
		return nil
	})
	if err != nil || len(wrong) == 0 {
		return nil, err
	}
	return &Error{
		Reason: Damaged, Message: "somebody altered what tokens stand on: they could repeat after a crash",
		SQL: strings.Join(wrong, "\n"),
	}, nil
}
