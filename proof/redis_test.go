//go:build unix

package proof

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/netfault"
	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/redislock"
)

// The grace is long enough for a server that shares two processors with everything else, and short enough to pass in a run.
const (
	redisTTL   = 2400 * time.Millisecond
	redisGrace = 800 * time.Millisecond
)

// redis opens a session with a server, with the grace that its URL says.
func redis(ctx context.Context, address string) (driver.Store, error) {
	return redislock.Open(ctx, address, redislock.Options{TTL: redisTTL})
}

// redisModes are the queries of URLs: crashed holders are noticed after a grace, or left to the TTL.
var redisModes = map[string]string{"grace": "?tenure_grace=" + redisGrace.String(), "ttl": "?tenure_grace=0s"}

// TestRedis tortures sessions of one process, while their connections are cut, or say nothing in one way or both, for less than a
// grace and for longer, and subscriptions are killed.
func TestRedis(t *testing.T) {
	t.Parallel()
	for mode, query := range redisModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			server := servers.StartRedis(t, servers.RedisOptions{})
			seen := Tally{}
			rounds(t, 2, 1, func(seed uint64) {
				proxy := netfault.New(t, server.Address())
				address := strings.Replace(server.URL(), server.Address(), proxy.Address(), 1) + query
				config := Config{
					Seed:   seed,
					Open:   func(ctx context.Context) (driver.Store, error) { return redis(ctx, address) },
					Break:  func(rng *rand.Rand) error { return breakRedis(server, proxy, rng) },
					TTL:    redisTTL,
					Ops:    15,
					Pace:   redisTTL / 160,
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

// breakRedis disturbs the way to the server, or makes it forget its scripts or its subscriptions. What it has in memory stays: a
// server that loses that grants a lock beside its holder, as Guarantees says.
func breakRedis(server *servers.Redis, proxy *netfault.Proxy, rng *rand.Rand) error {
	for range 1 + rng.IntN(3) {
		switch rng.IntN(5) {
		case 0:
			proxy.Cut()
		case 1:
			if _, err := server.Command("CLIENT", "KILL", "TYPE", "pubsub"); err != nil {
				return err
			}
		case 2:
			if _, err := server.Command("SCRIPT", "FLUSH"); err != nil {
				return err
			}
		default:
			proxy.Drop(rng.IntN(2) == 0, rng.IntN(2) == 0)
			time.Sleep(time.Duration(rng.Int64N(int64(2 * redisGrace)))) // the fault lasts that long
			proxy.Heal()
			proxy.Cut()
		}
		time.Sleep(time.Duration(rng.Int64N(int64(redisGrace / 2))))
	}
	return nil
}

// TestRedisProcesses stops, continues and kills processes that share a server.
func TestRedisProcesses(t *testing.T) {
	t.Parallel()
	for mode, query := range redisModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			server := servers.StartRedis(t, servers.RedisOptions{})
			seen := Tally{}
			rounds(t, 0, 1, func(seed uint64) {
				torture := Processes{
					Seed: seed, Open: anywhere, Address: server.URL() + query, Dir: t.TempDir(),
					TTL: redisTTL, For: 8 * time.Second, Faults: faults,
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
