package rows

import (
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestRestartsLoseNothing: leases outlive every end of the server, and numbers rise over it.
func TestRestartsLoseNothing(t *testing.T) {
	t.Parallel()
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	url := database(t, server)
	s, other := open(t, url), open(t, url)
	held, last := s.take(t, "held"), s.take(t, "x")
	for name, stop := range map[string]func() error{
		"a clean restart":      func() error { return server.Stop("fast") },
		"an immediate restart": func() error { return server.Stop("immediate") },
	} {
		number := last.grant.Number
		waiter := other.claim(t, "held").waits(t.Context())
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if c := s.claim(t, "down").start(t.Context()).ends(prompt); c.err == nil {
			t.Errorf("%s: granted by a server that is down", name)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		held.renewsSoon(prompt)
		last.renewsSoon(prompt)
		last.releases()
		last = other.takeSoon(t, prompt, "x")
		if last.grant.Number <= number {
			t.Errorf("%s: number %d came after %d", name, last.grant.Number, number)
		}
		waiter.abandons()
		waiter.ends(prompt)
		other.refused(t, "held")
		last.releases()
		last = s.takeSoon(t, prompt, "x")
	}
}

// TestGrantIsFlushed: a role's synchronous_commit = off must not let a crash take a grant back, or its number comes again.
func TestGrantIsFlushed(t *testing.T) {
	t.Parallel()
	server := servers.StartPostgres(t, servers.PostgresOptions{Settings: map[string]string{
		"synchronous_commit": "off", "wal_writer_delay": "10s", "wal_writer_flush_after": "0",
	}})
	url := database(t, server)
	s := open(t, url)
	s.take(t, "warm") // whatever the first one flushes
	held := s.take(t, "x")
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	held.renewsSoon(prompt)

	held.releases()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	again := s.takeSoon(t, prompt, "x")
	if again.grant.Number <= held.grant.Number {
		t.Errorf("number %d came after %d", again.grant.Number, held.grant.Number)
	}
}

// TestStrictCommitIsKept: what is stronger than local stays as the role has it.
func TestStrictCommitIsKept(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	for role, want := range map[string]string{"off": "local", "local": "local", "remote_write": "remote_write", "on": "on", "remote_apply": "remote_apply"} {
		s := open(t, url+"&synchronous_commit="+role)
		s.take(t, role)
		// A trigger writes down what a write of the row was under.
		exec(t, url, `
			create table if not exists seen (setting text);
			create or replace function see() returns trigger language plpgsql as
			'begin insert into seen values (current_setting(''synchronous_commit'')); return new; end';
			create or replace trigger see before insert or update on tenure.lease for each row execute function see();
			truncate seen`)
		s.take(t, role+"2").releases()
		renewed := s.take(t, role+"3")
		renewed.renewsSoon(prompt)
		if got := ask[string](t, url, "select string_agg(distinct setting, ',') from seen"); got != want {
			t.Errorf("under %s, rows were written with %s instead of %s", role, got, want)
		}
	}
}
