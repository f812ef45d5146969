package servers_test

import (
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestStandby is held up in both ways, and becomes a primary that lacks what came after.
func TestStandby(t *testing.T) {
	primary := servers.StartPostgres(t, servers.PostgresOptions{Settings: map[string]string{"max_connections": "250"}})
	standby := primary.Standby(t, servers.PostgresOptions{})
	primary.SQL(t, "", "create table t (n int); insert into t values (1)")
	must(t, standby.CaughtUp(t.Context()))
	count := "select count(*) from t"
	expect(t, standby, "", count+"; select pg_is_in_recovery()", "1\nt")

	must(t, standby.PauseReplay())
	primary.SQL(t, "", "insert into t values (2)")
	expect(t, standby, "", count, "1")
	must(t, standby.ResumeReplay())
	must(t, standby.CaughtUp(t.Context()))
	expect(t, standby, "", count, "2")

	must(t, standby.StopReplication())
	primary.SQL(t, "", "insert into t values (3)")
	must(t, standby.ResumeReplication())
	must(t, standby.CaughtUp(t.Context()))
	expect(t, standby, "", count, "3")

	must(t, standby.StopReplication())
	primary.SQL(t, "", "insert into t values (4)")
	must(t, primary.Kill())
	must(t, standby.Promote())
	standby.SQL(t, "", "insert into t values (5)")
	expect(t, standby, "", "select string_agg(n::text, ' ' order by n) from t", "1 2 3 5")
}

// TestSynchronousStandby has all that was committed, since a commit waits for it.
func TestSynchronousStandby(t *testing.T) {
	primary := servers.StartPostgres(t, servers.PostgresOptions{})
	standby := primary.Standby(t, servers.PostgresOptions{})
	must(t, standby.Synchronous())
	primary.SQL(t, "", "create table t ()")
	must(t, standby.PauseReplay()) // received is enough
	primary.SQL(t, "", "insert into t default values")
	must(t, primary.Kill())
	must(t, standby.Promote())
	expect(t, standby, "", "select count(*) from t", "1")
}
