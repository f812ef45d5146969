package servers_test

import (
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestCopy of a server that crashed, beside the original, which has gone on.
func TestCopy(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	server.SQL(t, "", "create table t (n int); insert into t values (1)")
	must(t, server.Kill())
	backup := server.Copy(t)
	must(t, server.Start())
	server.SQL(t, "", "insert into t values (2)")
	must(t, backup.Start())
	expect(t, backup, "", "select count(*) from t", "1")
	expect(t, server, "", "select count(*) from t", "2")
	if backup.Port() == server.Port() || backup.Dir() == server.Dir() {
		t.Error("the copy shares a port or a folder with the original")
	}
}

// TestDumpAndRestore in both formats.
func TestDumpAndRestore(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	from := server.Database(t)
	server.SQL(t, from, "create table t (n int); insert into t values (1), (2); create sequence s; select nextval('s')")
	for _, format := range []string{"--format=plain", "--format=custom"} {
		to := server.Database(t)
		server.Restore(t, to, server.Dump(t, from, format))
		expect(t, server, to, "select sum(n) from t; select nextval('s')", "3\n2")
	}
}

func TestUpgrade(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	server.SQL(t, "", "create table t (n int); insert into t values (1)")
	must(t, server.Stop("fast"))
	upgraded := server.Upgrade(t)
	expect(t, upgraded, "", "select n from t", "1")
}
