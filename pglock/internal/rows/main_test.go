package rows

import (
	"context"
	"flag"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/locktest"
	"github.com/tenurelock/tenure/pglock/internal/pgtest"
)

// server is what the tests share that break nothing. Each has a database of its own.
var server *servers.Postgres

// TestMain lets the rules about killed and stopped processes run this test binary again, and leaves no goroutine.
func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if _, isChild := os.LookupEnv("TENURE_LOCKTEST_ADDRESS"); isChild {
		return locktest.Main(m, reopen)
	}
	// Rules wait more than they work, but a machine that is too busy breaks their promises about time. The command line
	// comes after it.
	_ = flag.Set("test.parallel", "8")
	return pgtest.Main(&server, servers.PostgresOptions{Settings: map[string]string{"max_connections": "300"}}, m.Run)
}

// reopen opens a session as another process would.
func reopen(address string) (driver.Store, error) {
	return New(context.Background(), Config{
		Dial:    func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, address) },
		Address: address,
	})
}

// database makes a database with the tables of lease rows, and gives its URL.
func database(t testing.TB, server *servers.Postgres) string {
	t.Helper()
	url := server.Database(t)
	migrate(t, url)
	return url
}

func migrate(t testing.TB, url string) {
	t.Helper()
	sql, err := os.ReadFile("../schema/sql/0004_rows.sql")
	if err != nil {
		t.Fatal(err)
	}
	exec(t, url, "create schema if not exists tenure")
	exec(t, url, string(sql))
}

// exec runs statements on a connection of their own.
func exec(t testing.TB, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.PgConn().Exec(t.Context(), sql).Close(); err != nil {
		t.Fatal(err)
	}
}

// ask reads one value.
func ask[T any](t testing.TB, url, sql string, args ...any) (value T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// counter counts the statements of a session, and its connections.
type counter struct{ statements, connections atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.statements.Add(1)
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// during gives how many statements f takes.
func (c *counter) during(f func()) int64 {
	before := c.statements.Load()
	f()
	return c.statements.Load() - before
}

// open opens a session that the test closes.
func open(t testing.TB, url string, changes ...func(*Config)) *Store {
	t.Helper()
	s, _ := openCounted(t, url, changes...)
	return s
}

func openCounted(t testing.TB, url string, changes ...func(*Config)) (*Store, *counter) {
	t.Helper()
	count := &counter{}
	config := Config{Address: url, Dial: func(ctx context.Context) (*pgx.Conn, error) {
		parsed, err := pgx.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		parsed.Tracer = count
		count.connections.Add(1)
		return pgx.ConnectConfig(ctx, parsed)
	}}
	for _, change := range changes {
		change(&config)
	}
	s, err := New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s, count
}

// prompt is how late an answer may come that is promised at once.
const prompt = 5 * time.Second
