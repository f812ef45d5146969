package pglock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
)

// TestMigrateForNobody changes nothing for a role that is not there.
func TestMigrateForNobody(t *testing.T) {
	t.Parallel()
	database := pglock.SharedServer.Database(t)
	err := migrateTo(t, database, pglock.MigrateOptions{Roles: []string{newRole(t), "no such role"}})
	if err == nil || !strings.Contains(err.Error(), `CREATE ROLE "no such role" LOGIN`) {
		t.Errorf("rights for a role that is not there: %v", err)
	}
	if n := pglock.SharedServer.SQL(t, database, "select count(*) from pg_namespace where nspname = 'tenure'"); n != "0" {
		t.Error("the schema was made all the same")
	}
}

// TestMigrate makes the schema as often and by as many as one likes, for roles that may only lock.
func TestMigrate(t *testing.T) {
	t.Parallel()
	database := pglock.SharedServer.Database(t)
	role := newRole(t)
	must(t, migrateTo(t, database, pglock.MigrateOptions{Roles: []string{role}}))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := migrateTo(t, database, pglock.MigrateOptions{Roles: []string{role}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, mode := range []pglock.Mode{pglock.Sessions, pglock.Rows} {
		must(t, leaseOf(t, lockerAt(t, as(t, database, role), pglock.Options{Mode: mode}), "nightly").Release(t.Context()))
	}

	// The role can neither change the schema nor the tokens.
	err := migrateTo(t, as(t, database, role), pglock.MigrateOptions{Above: 1 << 59})
	if err == nil || !strings.Contains(err.Error(), "only the owner of schema tenure may") {
		t.Error(err)
	}
}

// TestMigrateNeedsAnAdministrator where the role may not create the schema, and says so; what is printed is enough.
func TestMigrateNeedsAnAdministrator(t *testing.T) {
	t.Parallel()
	database := pglock.SharedServer.Database(t)
	role := newRole(t)
	err := migrateTo(t, as(t, database, role), pglock.MigrateOptions{})
	if err == nil || !strings.Contains(err.Error(), `an administrator must run: CREATE SCHEMA tenure AUTHORIZATION "`+role+`";`) {
		t.Error(err)
	}
	script, err := pglock.Script(pglock.MigrateOptions{Above: 1 << 59, Roles: []string{role}})
	must(t, err)
	pglock.SharedServer.SQL(t, database, script)
	pglock.SharedServer.SQL(t, database, script)
	lease := leaseOf(t, lockerAt(t, as(t, database, role), pglock.Options{}), "nightly")
	if lease.Token() <= 1<<59 {
		t.Errorf("token %v", lease.Token())
	}
	must(t, lease.Release(t.Context()))
}

// TestMigrateAbove: tokens rise above one of another store, also while locks are held, and never fall for a lower one.
func TestMigrateAbove(t *testing.T) {
	t.Parallel()
	database := pglock.SharedServer.Database(t)
	locker := lockerAt(t, database, pglock.Options{})
	kept := leaseOf(t, locker, "kept")
	above := kept.Token()
	for range 3 {
		above += 1 << 50
		must(t, migrateTo(t, database, pglock.MigrateOptions{Above: above}))
		must(t, migrateTo(t, database, pglock.MigrateOptions{Above: 256}))
		lease := leaseOf(t, locker, "nightly")
		if lease.Token() <= above {
			t.Errorf("token %v is not above %v", lease.Token(), above)
		}
		must(t, lease.Release(t.Context()))
	}
	must(t, kept.Release(t.Context()))
	for above, says := range map[tenure.Token]string{-1: "positive", 1<<63 - 1: "there are none above it"} {
		err := migrateTo(t, database, pglock.MigrateOptions{Above: above})
		isErr(t, err, tenure.ErrInvalid)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", above, err)
		}
	}

	// Lease rows go by the clock.
	must(t, migrateTo(t, database, pglock.MigrateOptions{Mode: pglock.Rows, Above: kept.Token() - 256*60e6})) // a minute ago
	err := migrateTo(t, database, pglock.MigrateOptions{Mode: pglock.Rows, Above: above})
	if err == nil || !strings.Contains(err.Error(), "the database's clock, which reaches that token on") {
		t.Error(err)
	}
	if _, err := pglock.Script(pglock.MigrateOptions{Mode: pglock.Rows, Above: above}); err == nil {
		t.Error("a script for lease rows above a token")
	}
}

// TestMigrateThroughPoolers that share sessions.
func TestMigrateThroughPoolers(t *testing.T) {
	t.Parallel()
	for _, mode := range poolModes {
		_, pooled, _ := behindPooler(t, mode, map[string]string{"default_pool_size": "1"})
		must(t, migrateTo(t, pooled, pglock.MigrateOptions{Above: 1 << 59, Roles: []string{"postgres"}}))
	}
}

// TestParseURL takes Tenure's settings out, and repeats no password.
func TestParseURL(t *testing.T) {
	t.Parallel()
	config, opts, err := pglock.ParseURL("postgres://u:hunter2@h/db?tenure_mode=rows&tenure_pooler=session&application_name=x", pglock.Options{Waits: 3})
	must(t, err)
	if opts.Mode != pglock.Rows || !opts.SessionPooler || opts.Waits != 3 || len(config.RuntimeParams) != 1 || config.Password != "hunter2" {
		t.Errorf("%+v with %v", opts, config.RuntimeParams)
	}
	if _, _, err = pglock.ParseURL("host=h dbname=db tenure_mode=sessions", pglock.Options{}); err != nil {
		t.Error(err)
	}
	for wrong, says := range map[string]string{
		"postgres://u:a/hunter2@h/db":                              "invalid port",
		"postgres://u:a/b?hunter2@h/db":                            "missing key/value separator",
		"postgres://u:a@hunter2@h/db":                              "there is an @ in the host",
		"postgres://u:a@hunter2@h,i/db":                            "there is an @ in the host",
		"postgres://u:hunter2%zz@h/db":                             "percent-encoded",
		"postgres://u:hunter2@h:1,i:2,j/db?port=1,2":               "",
		"postgres://u:hunter2@h/db?connect_timeout=soon":           "connect_timeout",
		"postgres://u:hunter2@h/db?target_session_attrs=any-other": "any-other",
		"postgres://u:hunter2@h/db?tenure_mode=row":                "sessions or rows is right",
		"postgres://u:hunter2@h/db?tenure_pooler=transaction":      "tenure_mode=rows",
		"postgres://u:hunter2@h/db?tenure_mod=rows":                "tenure_mode and tenure_pooler are",
		"hunter2":                      "neither a URL",
		"host=h password=hunter2 user": "neither a URL",
		"postgres://u:hunter2@h/db?sslmode=require&sslrootcert=/no": "open /no",
	} {
		_, _, err := pglock.ParseURL(wrong, pglock.Options{})
		switch {
		case err == nil && says != "":
			t.Errorf("%s is read", wrong)
		case err == nil:
		case !strings.Contains(err.Error(), says), strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: %v; want %q and no password", wrong, err, says)
		}
		if file := (*fs.PathError)(nil); says == "open /no" && !errors.As(err, &file) {
			t.Errorf("%v is no PathError", err)
		}
	}
}

func migrateTo(t *testing.T, url string, opts pglock.MigrateOptions) error {
	config, _, err := pglock.ParseURL(url, pglock.Options{})
	if err != nil {
		return err
	}
	called := false
	opts.BeforeConnect = func(context.Context, *pgx.ConnConfig) error { called = true; return nil }
	err = pglock.Migrate(patient(t), config, opts)
	if !called && !errors.Is(err, tenure.ErrInvalid) {
		t.Error("BeforeConnect was not called")
	}
	return err
}

// newRole makes a role that may do nothing but connect.
func newRole(t *testing.T) string {
	t.Helper()
	role := "role_" + strings.ToLower(rand.Text()[:12])
	pglock.SharedServer.SQL(t, "", "create role "+role+" login")
	return role
}

// as gives the URL of a database for a role.
func as(t *testing.T, database, role string) string {
	t.Helper()
	u, err := url.Parse(database)
	must(t, err)
	u.User = url.User(role)
	return u.String()
}
