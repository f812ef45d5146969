package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/internal/servers"
)

// stats is what a server says about itself.
type stats struct {
	at      time.Time
	took    time.Duration  // if it is of a while
	calls   map[string]int // by command; those inside scripts too
	all     int            // commands processed, those inside scripts too
	clients int            // connections, the one that asks among them
	cpu     float64        // seconds
	usec    int            // that scripts took, in µs
}

func statsOf(t testing.TB, server *servers.Redis) stats {
	t.Helper()
	said, err := server.Command("INFO", "everything")
	if err != nil {
		t.Fatal(err)
	}
	s := stats{at: time.Now(), calls: make(map[string]int)}
	for line := range strings.Lines(said) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		command, isCommand := strings.CutPrefix(key, "cmdstat_")
		switch {
		case isCommand:
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			s.calls[command], err = strconv.Atoi(calls)
			if command == "evalsha" || command == "eval" {
				_, usec, _ := strings.Cut(value, ",usec=")
				usec, _, _ = strings.Cut(usec, ",")
				n, _ := strconv.Atoi(usec)
				s.usec += n
			}
		case key == "total_commands_processed":
			s.all, err = strconv.Atoi(value)
		case key == "connected_clients":
			s.clients, err = strconv.Atoi(value)
		case key == "used_cpu_user", key == "used_cpu_sys":
			var seconds float64
			seconds, err = strconv.ParseFloat(value, 64)
			s.cpu += seconds
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return s
}

// since gives what happened after another look.
func (s stats) since(before stats) stats {
	calls := make(map[string]int)
	for command, n := range s.calls {
		if n -= before.calls[command]; n > 0 && command != "info" {
			calls[command] = n
		}
	}
	return stats{
		calls: calls, all: s.all - before.all - 1, clients: s.clients - before.clients, // -1: the INFO
		took: s.at.Sub(before.at), cpu: s.cpu - before.cpu, usec: s.usec - before.usec,
	}
}

// scripts is how many were sent: each is one round trip. A session of redislock sends nothing else, once it is open, than these
// and the pings of the client library.
func (s stats) scripts() int { return s.calls["evalsha"] + s.calls["eval"] }

// watch gives what happens in a while.
func watch(t testing.TB, server *servers.Redis, length time.Duration) stats {
	t.Helper()
	before := statsOf(t, server)
	time.Sleep(length)
	return statsOf(t, server).since(before)
}

// per lists the calls, divided.
func (s stats) per(n float64) string {
	list := []string{fmt.Sprintf("scripts %.3g, with those inside %.3g commands:", float64(s.scripts())/n, float64(s.all)/n)}
	for _, command := range slices.Sorted(maps.Keys(s.calls)) {
		list = append(list, fmt.Sprintf("%s %.3g", command, float64(s.calls[command])/n))
	}
	return strings.Join(list, " ")
}

// TestCommandsALease counts what the server has to do for a lease. Each script is one round trip.
func TestCommandsALease(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		for _, r := range []rival{tenureTries(t, 1), bsmTries(t, 1), redsyncTries(t, 1), rueidisTries(t, 1, false), rueidisTries(t, 1, true)} {
			count(t, r, 1, 2.05)
		}
	})
	t.Run("sessions=50", func(t *testing.T) {
		for _, r := range []rival{
			tenureWaits(t, redisServer.Address(), "count", sessions), rueidisWaits(t, sessions, false), rueidisWaits(t, sessions, true),
		} {
			count(t, r, sessions, 3)
		}
	})
}

// count lets callers have leases for a turn. Of Tenure's, none may take more than so many scripts on average.
func count(t *testing.T, r rival, callers int, most float64) {
	t.Helper()
	turnOf(r, callers, 0, *turn/4)
	before := statsOf(t, redisServer)
	w := turnOf(r, callers, 0, 2**turn)
	did := statsOf(t, redisServer).since(before)
	n := float64(w.leases)
	t.Logf("%s, %.0f leases, for each: server CPU %.0f µs, in scripts %.0f µs; %s", r.name, n, 1e6*did.cpu/n, float64(did.usec)/n, did.per(n))
	if r.name != "tenure" {
		return
	}
	if w.failed > 0 || w.leases == 0 {
		t.Fatalf("%d leases, and %d that failed: %v", w.leases, w.failed, w.failure)
	}
	if got := float64(did.scripts()) / float64(w.leases); got > most {
		t.Errorf("a lease takes %.2f scripts; %v are wanted at most", got, most)
	}
}

// queued counts those who wait for a name at the server.
func queued(t *testing.T, server *servers.Redis, name string) int {
	t.Helper()
	text, err := server.Command("ZCARD", "{"+name+"}:tenure1:queue")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestIdleWaiters counts what 1,000 waiters in one process take while nothing happens, with the default TTL and grace.
func TestIdleWaiters(t *testing.T) {
	const waiters, look = 1000, 10 * time.Second
	// They all want one name, so that one of them waits at the server. With a name each, each would ask there.
	for _, test := range []struct {
		kind  string
		names int
		most  float64 // commands a second
	}{{"name", 1, 5}} {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			server := servers.StartRedis(t, servers.RedisOptions{})
			holder := open(t, server.Address())
			var held tenure.Leases
			for i := range test.names {
				lease, err := holder.Acquire(t.Context(), fmt.Sprint("idle/", i))
				if err != nil {
					t.Fatal(err)
				}
				held = append(held, lease)
			}
			alone := watch(t, server, look/2)
			before := statsOf(t, server)
			ctx, cancel := context.WithCancel(t.Context())
			var group sync.WaitGroup
			waiting := open(t, server.Address())
			var began atomic.Int32
			for i := range waiters {
				group.Go(func() {
					began.Add(1)
					if _, err := waiting.Acquire(ctx, fmt.Sprint("idle/", i%test.names)); err == nil || ctx.Err() == nil {
						t.Errorf("a wait ended: %v", err)
					}
				})
			}
			for end := time.Now().Add(time.Minute); began.Load() < waiters || queued(t, server, "idle/0") == 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("nobody waits at the server")
				}
			}
			connections := statsOf(t, server).since(before).clients
			both := watch(t, server, look)
			if err := held.Err(); err != nil {
				t.Error(err)
			}
			sent := func(s stats) float64 { return float64(s.scripts()+s.calls["ping"]) / s.took.Seconds() }
			sends := sent(both) - sent(alone)
			t.Logf("the waiters have %d connections; in a second they send %.2f commands, pings among them, which are %.1f with those inside scripts",
				connections, sends, float64(both.all)/both.took.Seconds()-float64(alone.all)/alone.took.Seconds())
			t.Logf("a second, with the holder's: %s", both.per(both.took.Seconds()))
			t.Logf("a second, the holder's alone: %s", alone.per(alone.took.Seconds()))
			cancel()
			group.Wait()
			if connections != 2 {
				t.Errorf("they have %d connections; 2 are wanted", connections)
			}
			if sends >= test.most {
				t.Errorf("they send %.2f commands a second; fewer than %v are wanted", sends, test.most)
			}
			if err := held.Release(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
