package servers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestSentinels name the primary, and another after a failover that they were asked for, or had to make.
func TestSentinels(t *testing.T) {
	for _, settings := range []map[string]string{nil, {"requirepass": "secret"}} {
		primary := servers.StartRedis(t, servers.RedisOptions{Settings: settings})
		replicas := []*servers.Redis{primary.Replica(t, servers.RedisOptions{}), primary.Replica(t, servers.RedisOptions{})}
		sentinels := servers.StartSentinels(t, primary, 3, servers.SentinelOptions{})
		if addresses := sentinels.Addresses(); len(addresses) != 3 || addresses[1] != sentinels.Nodes()[1].Address() {
			t.Errorf("the sentinels are at %v", addresses)
		}
		names(t, sentinels, primary)
		for _, sentinel := range sentinels.Nodes() {
			said, err := sentinel.Command("SENTINEL", "CKQUORUM", servers.SentinelName)
			if err != nil || !strings.HasPrefix(said, "OK 3 usable Sentinels.") {
				t.Errorf("%s, %v", said, err)
			}
		}

		must(t, sentinels.Failover())
		second := primaryOf(t, sentinels, replicas)
		says(t, second, "OK", "SET", "a", "1")
		must(t, primary.CaughtUp(t.Context(), second)) // they have made it a replica

		must(t, sentinels.Nodes()[0].Pause()) // two of three are enough
		must(t, second.Kill())
		eventually(t, "another is the primary", func() bool {
			address, err := sentinels.Master()
			return err == nil && address != second.Address()
		})
		third := primaryOf(t, sentinels, append(replicas, primary))
		eventually(t, "it takes writes", func() bool {
			_, err := third.Command("SET", "b", "2")
			return err == nil
		})
		must(t, sentinels.Nodes()[0].Continue())
	}
}

func TestSentinelsWithTheirSettings(t *testing.T) {
	primary := servers.StartRedis(t, servers.RedisOptions{})
	sentinels := servers.StartSentinels(t, primary, 2, servers.SentinelOptions{
		DownAfter: time.Minute, FailoverTimeout: time.Hour, Settings: map[string]string{"maxclients": "321"},
	})
	first, second := sentinels.Nodes()[0], sentinels.Nodes()[1]
	said, err := first.Command("SENTINEL", "MASTER", servers.SentinelName)
	must(t, err)
	fields := lines(said)
	for name, want := range map[string]string{"down-after-milliseconds": "60000", "failover-timeout": "3600000", "quorum": "2"} {
		if i := slices.Index(fields, name); i < 0 || fields[i+1] != want {
			t.Errorf("%s is not %s in %v", name, want, fields)
		}
	}
	said, err = first.Command("INFO", "clients")
	must(t, err)
	if !strings.Contains(said, "\nmaxclients:321\r\n") {
		t.Errorf("not 321 clients: %s", said)
	}

	must(t, first.Kill())
	names(t, sentinels, primary)
	must(t, first.Start()) // it knows what it knew
	must(t, second.Kill())
	names(t, sentinels, primary)
	must(t, first.Kill())
	if address, err := sentinels.Master(); err == nil {
		t.Errorf("no sentinel runs, and the primary is %s", address)
	}
}

func names(t *testing.T, sentinels *servers.Sentinels, want *servers.Redis) {
	t.Helper()
	address, err := sentinels.Master()
	must(t, err)
	if address != want.Address() {
		t.Errorf("the primary is at %s instead of %s", address, want.Address())
	}
}

// primaryOf gives the one of these that the sentinels name.
func primaryOf(t *testing.T, sentinels *servers.Sentinels, among []*servers.Redis) *servers.Redis {
	t.Helper()
	address, err := sentinels.Master()
	must(t, err)
	i := slices.IndexFunc(among, func(server *servers.Redis) bool { return server.Address() == address })
	if i < 0 {
		t.Fatalf("the primary is at %s, which is none of those that it may be", address)
	}
	return among[i]
}
