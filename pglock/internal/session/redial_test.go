package session

import (
	"context"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock/internal/connect"
)

// opens says what the opening of a session comes to.
func opens(t testing.TB, config *pgx.ConnConfig) error {
	t.Helper()
	s, err := New(t.Context(), connect.New(config, nil), Options{TTL: time.Minute, Waits: 8, Waited: 32, MaxLocks: 10, Turn: time.Minute})
	if err == nil {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return err
}

// TestRefusedLogin: that the server refuses the role is for good where it has never let it in, and may pass where it has: a
// password is being changed. Leases are granted again when it has been.
func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	v := look(t, direct)
	parsed, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	role := "late" + strings.TrimPrefix(parsed.Path, "/")
	v.do("create role " + role + " login superuser")
	t.Cleanup(func() { v.do("drop owned by " + role + " cascade; drop role " + role) })
	config, err := pgx.ParseConfig(strings.Replace(direct, "postgres@", role+"@", 1))
	if err != nil {
		t.Fatal(err)
	}
	s, other := startConfig(t, config, long), start(t, direct, long)
	h := other.take(t, "busy")
	c := s.take(t, "x")
	v.do("alter role " + role + " nologin")
	// A line to wait on.
	w := s.caller(t, "busy")
	w.req.Wait = true
	if w.start(t.Context()).ends(prompt); kindOf(w.err) != "passing" {
		t.Errorf("a wait whose connection is refused said %s: %v", kindOf(w.err), w.err)
	}
	c.keeps()
	// The main line.
	v.count("select pg_terminate_backend($1)::int", s.pid(t))
	c.loses(prompt)
	for range 2 {
		if again := s.caller(t, "x").start(t.Context()).ends(prompt); kindOf(again.err) != "passing" || !strings.Contains(again.err.Error(), "28000") {
			t.Errorf("an acquisition whose connection is refused said %s: %v", kindOf(again.err), again.err)
		}
	}
	if err := opens(t, config); kindOf(err) != "lasting" {
		t.Errorf("a session that was never let in said %s: %v", kindOf(err), err)
	}
	v.do("alter role " + role + " login")
	s.takeSoon(t, prompt, "x").releases()
	h.releases()
	s.take(t, "busy").releases()
}

// TestLedToAStandby: a session that was good finds a standby, or a database that is read-only, in the place of its primary
// while that is exchanged. One that opens there is told that it is the wrong server.
func TestLedToAStandby(t *testing.T) {
	t.Parallel()
	own := servers.StartPostgres(t, servers.PostgresOptions{})
	direct := own.Database(t)
	v := look(t, direct)
	config, err := pgx.ParseConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	var to atomic.Value // where connections lead
	to.Store(own.Address())
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial(ctx, network, to.Load().(string))
	}
	s := startConfig(t, config, long)
	s.take(t, "x").releases()
	standby := own.Standby(t, servers.PostgresOptions{})
	database := strings.TrimSuffix(direct[strings.LastIndex(direct, "/")+1:], "?sslmode=disable")
	to.Store(standby.Address())
	c := s.take(t, "x")
	v.count("select pg_terminate_backend($1)::int", s.pid(t))
	c.loses(prompt)
	asked := func(where string) {
		t.Helper()
		for range 2 {
			if again := s.caller(t, "x").start(t.Context()).ends(prompt); kindOf(again.err) != "passing" {
				t.Errorf("%s: an acquisition said %s: %v", where, kindOf(again.err), again.err)
			}
		}
		if err := opens(t, config); kindOf(err) != "lasting" {
			t.Errorf("%s: a session that opens there said %s: %v", where, kindOf(err), err)
		}
	}
	asked("on a standby")
	v.do("alter database " + database + " set default_transaction_read_only = on")
	to.Store(own.Address())
	asked("on a database that is read-only")
	v.do("begin read write; alter database " + database + " reset default_transaction_read_only; commit")
	s.takeSoon(t, prompt, "x").releases()
}
