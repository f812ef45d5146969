package open

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock"
)

// patient is a context for tests on machines that have much else to do.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestURLsOfPostgres(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	direct := server.Database(t)
	pooled := servers.StartPgBouncer(t, server, servers.PgBouncerOptions{PoolMode: "session"}).URL(direct)
	shared := servers.StartPgBouncer(t, server, servers.PgBouncerOptions{PoolMode: "transaction"}).URL(direct)
	for _, c := range []struct {
		address string
		rows    bool
	}{
		{direct, false},
		{strings.Replace(direct, "postgres://", "POSTGRESQL://", 1), false},
		{direct + "&tenure_mode=sessions", false},
		{direct + "&tenure_mode=rows", true},
		{pooled + "&tenure_pooler=session", false},
		{pooled + "&tenure_mode=rows", true},
		{shared + "&tenure_mode=rows&default_query_exec_mode=simple_protocol", true},
	} {
		store, err := Store(patient(t), c.address, Options{TTL: 17 * time.Second})
		if err != nil {
			t.Errorf("%s: %v", c.address, err)
			continue
		}
		info := store.Info()
		if !strings.HasPrefix(info.Kind, Postgres) || info.TTL != 17*time.Second || info.FixedTTL == c.rows {
			t.Errorf("%s: opened %s with a TTL of %v, fixed: %v", c.address, info.Kind, info.TTL, info.FixedTTL)
		}
		closeStore(t, store)
	}
	for _, address := range []string{pooled, shared, shared + "&tenure_pooler=session"} {
		refused(t, address, pglock.ErrPooler, "tenure_mode=rows")
	}
}

// What the store itself says is not the URL's fault, tells what to do, and repeats no password.
func TestWhatPostgresSays(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	direct := server.Database(t)
	server.SQL(t, "", "create role app login")
	restricted, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	restricted.User = url.UserPassword("app", secret)
	refused(t, restricted.String(), nil, "an administrator must run: CREATE SCHEMA tenure")
	refused(t, restricted.String()+"&tenure_mode=rows", nil, "an administrator must run: CREATE SCHEMA tenure")
	restricted.Path = "/nowhere"
	refused(t, restricted.String(), nil, `database "nowhere" does not exist`)
	restricted.RawQuery += "&sslrootcert=/no/such/file&sslmode=verify-full"
	refused(t, restricted.String(), nil, "/no/such/file")
	if err := server.Stop("immediate"); err != nil {
		t.Fatal(err)
	}
	refused(t, direct, nil, "connection refused")
	refused(t, direct+"&tenure_mode=rows", nil, "connection refused")
}

const secret = "hunter2"

func refused(t *testing.T, address string, is error, says string) {
	t.Helper()
	store, err := Store(patient(t), address, Options{})
	switch {
	case err == nil:
		t.Errorf("%s was opened", address)
		closeStore(t, store)
	case errors.Is(err, ErrURL), is != nil && !errors.Is(err, is), !strings.Contains(err.Error(), says):
		t.Errorf("%s: %v; want no ErrURL, %v and %q", address, err, is, says)
	case strings.Contains(err.Error(), secret):
		t.Errorf("%s: the error repeats the password: %v", address, err)
	}
}

func TestKinds(t *testing.T) {
	for address, want := range map[string]string{
		"/locks": Directory, "file:x": Directory, "memory:": Memory, "postgres://h/d": Postgres, "PostgreSQL://h": Postgres,
	} {
		if kind, err := Kind(address); kind != want || err != nil {
			t.Errorf("%s: %q, %v", address, kind, err)
		}
	}
	store, err := Store(t.Context(), "memory:", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, store)
	if kind := store.Info().Kind; kind != Memory {
		t.Error(kind)
	}
}
