package session

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/locktest"
	"github.com/tenurelock/tenure/pglock/internal/connect"
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
	opts := servers.PostgresOptions{Settings: map[string]string{"max_connections": "400"}}
	return pgtest.Main(&server, opts, func() int { return locktest.Main(m, reopen) })
}

// reopen opens a session with a TTL of a second, as another process would; or with the one before a space in the address.
func reopen(address string) (driver.Store, error) {
	ttl := time.Second
	if text, url, found := strings.Cut(address, " "); found {
		address = url
		var err error
		if ttl, err = time.ParseDuration(text); err != nil {
			return nil, err
		}
	}
	return open(context.Background(), address, func(o *Options) { o.TTL = ttl })
}

// open opens a session with options for tests.
func open(ctx context.Context, url string, set ...func(*Options)) (*Store, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	opts := Options{TTL: 10 * time.Second, Waits: 8, Waited: 32, MaxLocks: 5000, Turn: time.Minute, Keep: 30}
	for _, s := range set {
		s(&opts)
	}
	return New(ctx, connect.New(config, nil), opts)
}
