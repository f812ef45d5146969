package servers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenurelock/tenure/internal/leak"
	"github.com/tenurelock/tenure/internal/servers"
)

func TestMain(m *testing.M) { leak.Main(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expect runs SQL and compares what it gives.
func expect(t *testing.T, server *servers.Postgres, database, sql, want string) {
	t.Helper()
	if got := server.SQL(t, database, sql); got != want {
		t.Errorf("%s gives %q instead of %q", sql, got, want)
	}
}

func TestServesWithItsSettings(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{
		Durable: true, Settings: map[string]string{"application_name": "it's"},
	})
	expect(t, server, server.Database(t), "show fsync; show application_name; select 1, null, 'a'", "on\npsql\n1||a")
	expect(t, server, "", "select setting from pg_file_settings where name = 'application_name'", "it's")
	expect(t, server, "", "show listen_addresses; show port", fmt.Sprintf("127.0.0.1\n%d", server.Port()))
	if server.PID() == 0 || !strings.HasPrefix(server.URL("a b"), "postgres://postgres@"+server.Address()+"/a%20b?") {
		t.Errorf("process %d at %s", server.PID(), server.URL("a b"))
	}
}

// TestSharedServer is one as a TestMain has it: with databases that last as long as a test.
func TestSharedServer(t *testing.T) {
	server, err := servers.NewPostgres(servers.PostgresOptions{})
	must(t, err)
	count := "select count(*) from pg_database where datname like 'test%'"
	t.Run("a test", func(t *testing.T) {
		server.SQL(t, server.Database(t), "create table t ()")
		expect(t, server, server.Database(t), "select to_regclass('t'); "+count, "\n2")
	})
	expect(t, server, "", count, "0")
	must(t, server.Close())
	must(t, server.Close())
	if server.PID() != 0 || server.Start() == nil {
		t.Error("a closed server runs, or starts")
	}
}

func TestStopModes(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	server.SQL(t, "", "create table t (n int)")
	for i, mode := range []string{"smart", "fast", "immediate"} {
		server.SQL(t, "", "insert into t values (1)")
		must(t, server.Stop(mode))
		must(t, server.Stop(mode)) // it is down, as wanted
		if server.PID() != 0 || server.Ready(t.Context()) == nil {
			t.Errorf("after a %s stop the server runs", mode)
		}
		must(t, server.Start())
		expect(t, server, "", "select count(*) from t", fmt.Sprint(i+1))
	}
	if server.Start() == nil || server.Stop("gently") == nil {
		t.Error("it starts twice, or stops in a mode that there is not")
	}
	if !strings.Contains(server.Log(), "automatic recovery in progress") {
		t.Errorf("the immediate stop led to no recovery:\n%s", server.Log())
	}
}

// TestKill loses no commit, though neither fsync nor a checkpoint has brought it to the disk.
func TestKill(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	session := begin(t, server)
	for i := range 3 {
		server.SQL(t, "", fmt.Sprintf("create table t%d ()", i))
		must(t, server.Kill())
		if server.PID() != 0 || server.Kill() == nil {
			t.Error("a killed server runs")
		}
		must(t, server.Start())
	}
	expect(t, server, "", "select count(*) from pg_tables where tablename like 't_'", "3")
	session.ends(t)
}

func TestKillBackend(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	killed, other := begin(t, server), begin(t, server)
	if err := server.KillBackend(server.PID()); err == nil {
		t.Error("the server itself is no backend of its own")
	}
	pid := server.PID()
	must(t, server.KillBackend(killed.pid))
	must(t, server.Ready(t.Context()))
	expect(t, server, "", "select 1", "1")
	if server.PID() != pid {
		t.Error("the server itself has ended")
	}
	killed.ends(t)
	other.ends(t)
}

// TestKilledAndClosed: closed while it is down, a server leaves no shared memory behind.
func TestKilledAndClosed(t *testing.T) {
	server, err := servers.NewPostgres(servers.PostgresOptions{})
	must(t, err)
	must(t, server.Kill())
	id := sharedMemory(t, server)
	must(t, server.Close())
	if exists(t, id) {
		t.Errorf("shared memory %s is left", id)
	}
}

func TestPortIsKeptFromOthers(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	// A port that outgoing connections use could be taken while the server is down.
	if server.Port() >= 32768 {
		t.Errorf("port %d", server.Port())
	}
}
