//go:build unix

package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock"
)

// postgresTTL leaves room for a server that shares two processors with everything else.
const postgresTTL = time.Second

// postgres opens a session with a database, in the mode that its URL says.
func postgres(ctx context.Context, address string) (driver.Store, error) {
	return pglock.Open(ctx, address, pglock.Options{TTL: postgresTTL})
}

// anywhere is what children open.
func anywhere(ctx context.Context, address string) (driver.Store, error) {
	switch {
	case strings.HasPrefix(address, "postgres://"):
		return postgres(ctx, address)
	case strings.HasPrefix(address, "redis://"):
		return redis(ctx, address)
	}
	return directory(ctx, address)
}

var postgresModes = []pglock.Mode{pglock.Sessions, pglock.Rows}

// TestPostgres tortures sessions of one process, while the server ends sessions and crashes.
func TestPostgres(t *testing.T) {
	t.Parallel()
	for _, mode := range postgresModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			server := servers.StartPostgres(t, servers.PostgresOptions{})
			seen := Tally{}
			rounds(t, 1, 1, func(seed uint64) {
				address := server.Database(t) + "&tenure_mode=" + mode.String()
				config := Config{
					Seed:   seed,
					Open:   func(ctx context.Context) (driver.Store, error) { return postgres(ctx, address) },
					Break:  func(rng *rand.Rand) error { return breakPostgres(t, server, address, rng) },
					TTL:    postgresTTL,
					Ops:    15,
					Pace:   postgresTTL / 80,
					Faults: faults,
				}
				config.Faults.Delay = 25 * time.Millisecond
				history, err := Torture(t.Context(), config)
				if err != nil {
					t.Fatalf("%v\nhistory in %s", err, keep(history))
				}
				seen.Add(history)
			})
			seen.happened(t, few...)
		})
	}
}

// breakPostgres ends some sessions mostly, or crashes the server in one way or another, which recovers.
func breakPostgres(t *testing.T, server *servers.Postgres, address string, rng *rand.Rand) error {
	switch rng.IntN(6) {
	case 0:
		if err := server.Kill(); err != nil {
			return err
		}
		return server.Start()
	case 1:
		if err := server.Stop([]string{"immediate", "fast"}[rng.IntN(2)]); err != nil {
			return err
		}
		return server.Start()
	}
	name, err := url.Parse(address)
	if err != nil {
		return err
	}
	server.SQL(t, "", fmt.Sprintf("select pg_terminate_backend(pid) from pg_stat_activity where datname = '%s' and random() < 0.7", name.Path[1:]))
	return nil
}

// TestPostgresProcesses stops, continues and kills processes that share a database.
func TestPostgresProcesses(t *testing.T) {
	t.Parallel()
	for _, mode := range postgresModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			server := servers.StartPostgres(t, servers.PostgresOptions{})
			seen := Tally{}
			rounds(t, 0, 1, func(seed uint64) {
				torture := Processes{
					Seed: seed, Open: anywhere, Address: server.Database(t) + "&tenure_mode=" + mode.String(), Dir: t.TempDir(),
					TTL: postgresTTL, For: 8 * time.Second, Faults: faults,
				}
				torture.Faults.Delay = 25 * time.Millisecond
				history, err := torture.Torture(t.Context())
				if err != nil {
					t.Fatalf("%v\nhistory in %s", err, keep(history))
				}
				seen.Add(history)
			})
			seen.happened(t, "acquire ok", "acquire held", "acquire -", "renew ok", "release ok", "write ok", "kill ok")
		})
	}
}
