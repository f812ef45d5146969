package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
)

// expectRefusal looks at an *Error: its reason, a part of its message, and its SQL if one is given.
func expectRefusal(t *testing.T, err error, reason Reason, part, sql string) {
	t.Helper()
	var refusal *Error
	if !errors.As(err, &refusal) {
		t.Errorf("the error is %v, not a refusal: %s", err, reason)
		return
	}
	if refusal.Reason != reason || !strings.Contains(refusal.Message, part) || sql != "" && refusal.SQL != sql {
		t.Errorf("refused as %s: %q, SQL: %q; it should be %s, say %q, and have the SQL %q", refusal.Reason, refusal.Message,
			refusal.SQL, reason, part, sql)
	}
}

// as is the URL of a role that the test makes, with a name that must be quoted.
func as(t *testing.T, server *servers.Postgres, database string) (role, address string) {
	t.Helper()
	role = fmt.Sprintf(`Odd "%s`, server.SQL(t, "", "select substr(md5(random()::text), 1, 8)"))
	server.SQL(t, "", "create role "+quoted(role)+" login")
	t.Cleanup(func() {
		server.SQL(t, database, "drop owned by "+quoted(role)+" cascade; drop role "+quoted(role))
	})
	u, err := url.Parse(server.URL(database))
	must(t, err)
	u.User = url.User(role)
	return role, u.String()
}

// TestMissingSchema: the one statement that is asked for is enough.
func TestMissingSchema(t *testing.T) {
	t.Parallel()
	database := shared.Database(t)
	role, address := as(t, shared, database)
	conn := dial(t, address)
	create := "CREATE SCHEMA tenure AUTHORIZATION " + quoted(role) + ";"
	expectRefusal(t, Ensure(t.Context(), conn), Missing, "is missing", create)
	shared.SQL(t, database, create)
	must(t, Ensure(t.Context(), conn))
	must(t, Open(t.Context(), conn))
}

// TestEmptySchemaOfAnother asks for the right to fill it.
func TestEmptySchemaOfAnother(t *testing.T) {
	t.Parallel()
	database := shared.Database(t)
	shared.SQL(t, database, "create schema tenure")
	role, address := as(t, shared, database)
	conn := dial(t, address)
	grant := "GRANT USAGE, CREATE ON SCHEMA tenure TO " + quoted(role) + ";"
	expectRefusal(t, Ensure(t.Context(), conn), Outdated, "may not fill it", grant)
	shared.SQL(t, database, grant)
	must(t, Ensure(t.Context(), conn))
}

// TestOutdatedSchemaOfAnother asks for the script, and names the owner.
func TestOutdatedSchemaOfAnother(t *testing.T) {
	t.Parallel()
	database := migrated(t)
	role, address := as(t, shared, database)
	shared.SQL(t, database, Grants(role)+"; drop table tenure.ran; delete from tenure.migration where version = 5")
	script, err := Script()
	must(t, err)
	expectRefusal(t, Ensure(t.Context(), dial(t, address)), Outdated, `its owner "postgres"`, script)
	shared.SQL(t, database, script)
	expectRefusal(t, Ensure(t.Context(), dial(t, address)), Permission, "lacks rights",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE tenure.ran TO "+quoted(role)+";")
}

// TestEachMissingRight is named, and granting what is named is enough. What Grants gives is enough for all that locks do,
// and for no more.
func TestEachMissingRight(t *testing.T) {
	t.Parallel()
	database := migrated(t)
	role, address := as(t, shared, database)
	conn := dial(t, address)
	err := Ensure(t.Context(), conn)
	expectRefusal(t, err, Permission, "lacks rights", Grants(role))
	shared.SQL(t, database, Grants(role))
	must(t, Ensure(t.Context(), conn))

	admin := dial(t, database)
	for _, statement := range strings.Split(Grants(role), "\n") {
		revoke := strings.Replace(strings.Replace(statement, "GRANT", "REVOKE", 1), " TO ", " FROM ", 1)
		_, err := admin.Exec(t.Context(), revoke)
		must(t, err)
		expectRefusal(t, Check(t.Context(), conn), Permission, "lacks rights", statement)
		_, err = admin.Exec(t.Context(), statement)
		must(t, err)
	}

	numbering, err := Number(t.Context(), conn)
	must(t, err)
	var a Answer
	must(t, conn.QueryRow(t.Context(), Acquire, int64(7), numbering.Sequence).Scan(&a.Number, nil))
	if a.High = numbering.High; a.Verdict() != Granted {
		t.Errorf("a restricted role acquired %+v", a)
	}
	a = drawOn(t, conn, numbering)
	if a.Verdict() != Granted {
		t.Errorf("a restricted role drew %+v", a)
	}
	must(t, Raise(t.Context(), conn, a.Wanted()))
	for _, forbidden := range []string{
		"select tenure.init_above(1)", "select setval('tenure.grants', 1)", "update tenure.ceiling set high = 1",
		"delete from tenure.incarnation", "insert into tenure.migration values (77)", "create table tenure.more ()",
		"select tenure.raise_ceiling(36028797018963967)",
	} {
		if _, err := conn.Exec(t.Context(), forbidden); err == nil {
			t.Errorf("a restricted role may: %s", forbidden)
		}
	}
}

// TestAlteredTablesAreNoticed, and the SQL mends them.
func TestAlteredTablesAreNoticed(t *testing.T) {
	t.Parallel()
	database := migrated(t)
	conn := dial(t, database)
	for _, test := range [][2]string{
		{"alter sequence tenure.grants set logged", "ALTER SEQUENCE tenure.grants"},
		{"alter sequence tenure.grants cache 20", "ALTER SEQUENCE tenure.grants"},
		{"alter table tenure.incarnation set logged", "ALTER TABLE tenure.incarnation"},
		{"alter table tenure.ceiling set unlogged", "ALTER TABLE tenure.ceiling"},
	} {
		shared.SQL(t, database, test[0])
		err := Check(t.Context(), conn)
		expectRefusal(t, err, Damaged, "altered", "")
		var refusal *Error
		if errors.As(err, &refusal) {
			shared.SQL(t, database, refusal.SQL)
		}
		must(t, Check(t.Context(), conn))
	}
	shared.SQL(t, database, "drop table tenure.ran")
	expectRefusal(t, Check(t.Context(), conn), Damaged, "tenure.ran is missing", "")
}

// TestReadOnlyDatabase is refused; a role that made only its own sessions so is not, since the connection overrides that.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	database := migrated(t)
	name := shared.SQL(t, database, "select current_database()")
	role, address := as(t, shared, database)
	shared.SQL(t, database, Grants(role)+"; alter role "+quoted(role)+" set default_transaction_read_only = on")
	must(t, Check(t.Context(), dial(t, address)))

	shared.SQL(t, database, "alter database "+name+" set default_transaction_read_only = on")
	t.Cleanup(func() { shared.SQL(t, "", "alter database "+name+" reset default_transaction_read_only") })
	expectRefusal(t, Ensure(t.Context(), dial(t, database)), ReadOnly, "set by the database",
		`ALTER DATABASE "`+name+`" RESET default_transaction_read_only;`)
	expectRefusal(t, (facts{number: oldest, readOnly: true, readOnlyBy: "configuration file"}).refusal(), ReadOnly,
		"set by the configuration file", "")
}

// TestH33StandbyIsRefused, with how to find the primary; and a statement that is run there all the same grants
// nothing: a session that sees an error gives back what it may have locked.
func TestH33StandbyIsRefused(t *testing.T) {
	t.Parallel()
	primary := servers.StartPostgres(t, servers.PostgresOptions{})
	must(t, Migrate(t.Context(), dial(t, primary.URL(""))))
	must(t, Open(t.Context(), dial(t, primary.URL(""))))
	standby := primary.Standby(t, servers.PostgresOptions{})
	must(t, standby.CaughtUp(t.Context()))
	oid, err := strconv.ParseUint(primary.SQL(t, "", "select 'tenure.grants'::regclass::oid"), 10, 32)
	must(t, err)
	conn := dial(t, standby.URL(""))
	expectRefusal(t, Ensure(t.Context(), conn), Standby, "connect to the primary", "")
	if _, err := conn.Exec(t.Context(), Acquire, int64(1), uint32(oid)); err == nil {
		t.Errorf("a standby ran %s", Acquire)
	}
}

// TestOldServerIsRefused.
func TestOldServerIsRefused(t *testing.T) {
	expectRefusal(t, (facts{number: 140012, version: "14.12"}).refusal(), TooOld, "14.12; tokens need version 15", "")
}
