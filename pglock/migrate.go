package pglock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock/internal/connect"
	"github.com/tenurelock/tenure/pglock/internal/schema"
)

// MigrateOptions are those of [Migrate] and [Script]. Zero makes the schema and no more.
type MigrateOptions struct {
	// Above, if not zero, is a token of the store from which locks move here, the highest that a guard has seen: every later
	// token is higher. Lease rows (Mode Rows) number grants by the database's clock; where that is not above the token, they
	// are refused.
	Above tenure.Token
	// Mode is how locks will be held: it matters to Above. The schema has both.
	Mode Mode
	// Roles get what they need to lock and to inspect, as by [Grants].
	Roles []string
	// BeforeConnect, if set, may change the configuration for the connection, as in [Options].
	BeforeConnect func(context.Context, *pgx.ConnConfig) error
}

// Migrate creates the schema tenure in a database, or brings it up to date, over a connection of its own. [New] does so too
// where its role may; Migrate is for a deployment whose locking roles may not. Any number of processes may run it at once, and
// as often as they like. The configuration comes from pgx.ParseConfig, or from [ParseURL], which takes out Tenure's own
// settings.
//
// The error says which statements an administrator must run, where that helps. After it, what was done stays done, and
// Migrate may be run again.
func Migrate(ctx context.Context, config *pgx.ConnConfig, opts MigrateOptions) error {
	if config == nil {
		return errors.New("pglock: a nil configuration; pgx.ParseConfig makes one")
	}
	if err := opts.check(); err != nil {
		return err
	}
	conn, err := connect.New(config, opts.BeforeConnect).Dial(ctx)
	if err != nil {
		return fmt.Errorf("pglock: %w", err)
	}
	err = opts.migrate(ctx, conn.Conn)
	_ = conn.Close(context.WithoutCancel(ctx)) // what was done is done
	if err != nil {
		return fmt.Errorf("pglock: %w", err)
	}
	return nil
}

// Script gives what [Migrate] would run, for an administrator's psql. It may be run again, on any version.
func Script(opts MigrateOptions) (string, error) {
	if err := opts.check(); err != nil {
		return "", err
	}
	if opts.Above != 0 && opts.Mode == Rows {
		return "", errors.New("pglock: lease rows number grants by the database's clock, and no SQL raises them above a token; Migrate compares the two")
	}
	script, err := schema.Script()
	if err != nil {
		return "", fmt.Errorf("pglock: %w", err)
	}
	parts := []string{script}
	if opts.Above != 0 {
		parts = append(parts, fmt.Sprintf("select tenure.init_above(%d);\n", grantOf(opts.Above)))
	}
	for _, role := range opts.Roles {
		parts = append(parts, Grants(role)+"\n")
	}
	return strings.Join(parts, "\n"), nil
}

// Grants gives the statements that let a role lock and inspect in either mode, and no more: it can neither change the schema
// nor lower tokens. An administrator runs them once it is there, and again after an update that brought new tables; the owner
// of the schema does not need them.
func Grants(role string) string { return schema.Grants(role) }

func (o MigrateOptions) check() error {
	switch {
	case o.Mode != Sessions && o.Mode != Rows:
		return fmt.Errorf("pglock: MigrateOptions.Mode %d; Sessions or Rows is right", o.Mode)
	case o.Above < 0:
		return fmt.Errorf("pglock: the token %d: a token is positive: %w", o.Above, tenure.ErrInvalid)
	case grantOf(o.Above) >= schema.Limit-schema.Span:
		return fmt.Errorf("pglock: the token %d: there are none above it, so it is hardly one of Tenure's: %w", o.Above, tenure.ErrInvalid)
	case slices.Contains(o.Roles, ""):
		return errors.New("pglock: MigrateOptions.Roles has an empty name")
	}
	return nil
}

func (o MigrateOptions) migrate(ctx context.Context, conn *pgx.Conn) error {
	if err := o.findRoles(ctx, conn); err != nil {
		return err
	}
	if err := schema.Ensure(ctx, conn); err != nil {
		return err
	}
	if o.Above != 0 {
		if err := o.raise(ctx, conn); err != nil {
			return err
		}
	}
	for _, role := range o.Roles {
		// One transaction, and one process at a time: of two that grant on one table, the server refuses the later.
		statements := fmt.Sprintf("select pg_advisory_xact_lock(%d);\n%s", grantKey, schema.Grants(role))
		if _, err := conn.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("let role %q lock: %w", role, err)
		}
	}
	return nil
}

// findRoles looks whether all roles are there, before anything is changed.
func (o MigrateOptions) findRoles(ctx context.Context, conn *pgx.Conn) error {
	for _, role := range o.Roles {
		var there bool
		err := conn.QueryRow(ctx, "select exists (select from pg_roles where rolname = $1)", pgx.QueryExecModeExec, role).Scan(&there)
		if err != nil {
			return fmt.Errorf("look for role %q: %w", role, err)
		}
		if !there {
			return fmt.Errorf("there is no role %q: make it first, with CREATE ROLE %s LOGIN; nothing was changed", role,
				pgx.Identifier{role}.Sanitize())
		}
	}
	return nil
}

// grantKey is the transaction lock under which roles get their rights: the bytes "tenure", 0, 2.
const grantKey int64 = 0x74656e7572650002

// grantOf leaves out of a token which hand-off it was.
func grantOf(t tenure.Token) int64 { return int64(t) >> 8 }

// raise makes tokens rise above one.
func (o MigrateOptions) raise(ctx context.Context, conn *pgx.Conn) error {
	grant := grantOf(o.Above)
	if o.Mode == Rows {
		return clockIsAbove(ctx, conn, grant)
	}
	const tries = 10 // of two seconds, for statements that run meanwhile, and somebody else's opening
	err := schema.InitAbove(ctx, conn, grant)
	for try := 1; try < tries && schema.Occupied(err); try++ {
		err = schema.InitAbove(ctx, conn, grant)
	}
	const insufficientPrivilege = "42501"
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == insufficientPrivilege {
		return fmt.Errorf("only the owner of schema tenure may: %w", err)
	}
	return err
}

// clockIsAbove refuses a token that lease rows could stay below.
func clockIsAbove(ctx context.Context, conn *pgx.Conn, grant int64) error {
	var clock int64
	const now = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint"
	if err := conn.QueryRow(ctx, now, pgx.QueryExecModeExec).Scan(&clock); err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	if grant >= clock {
		return fmt.Errorf("lease rows number grants by the database's clock, which reaches that token on %s: use session locks until then",
			time.UnixMicro(grant).UTC().Format("2006-01-02 15:04:05 MST"))
	}
	return nil
}
