package redislock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/redislock"
)

// recovery bounds how long after a failover everybody gets the lock again, on a busy machine.
const recovery = 20 * time.Second

// watched is a primary with two replicas and three Sentinels.
type watched struct {
	t         *testing.T
	nodes     []*servers.Redis
	sentinels *servers.Sentinels
	url       string
}

func startWatched(t *testing.T) *watched {
	t.Helper()
	primary := servers.StartRedis(t, servers.RedisOptions{})
	w := &watched{t: t, nodes: []*servers.Redis{primary}}
	for range 2 {
		w.nodes = append(w.nodes, primary.Replica(t, servers.RedisOptions{}))
	}
	w.sentinels = servers.StartSentinels(t, primary, 3, servers.SentinelOptions{})
	w.url = "redis+sentinel://" + strings.Join(w.sentinels.Addresses(), ",") + "/" + servers.SentinelName
	return w
}

// primary is the one that the Sentinels name.
func (w *watched) primary() *servers.Redis {
	w.t.Helper()
	address, err := w.sentinels.Master()
	if err != nil {
		w.t.Fatal(err)
	}
	i := slices.IndexFunc(w.nodes, func(node *servers.Redis) bool { return node.Address() == address })
	if i < 0 {
		w.t.Fatalf("the Sentinels name %s", address)
	}
	return w.nodes[i]
}

// TestH49Sentinel: a planned failover and then a killed primary, under load: leases go on at the new primary, and tokens rise.
func TestH49Sentinel(t *testing.T) {
	t.Parallel()
	w := startWatched(t)
	work := underLoad(t, w.url, "x", 3, redislock.Options{TTL: 3 * time.Second})
	work.goesOn(recovery)
	work.mayLose() // the old primary takes writes for a moment longer
	must(t, w.sentinels.Failover())
	work.goesOn(recovery)
	work.mayLose()
	must(t, w.primary().Kill())
	work.goesOn(recovery)
}

// TestH49OldPrimaryStays as one for many seconds after a planned failover, as it does with the Sentinels of users: sessions do not
// go on listening there.
func TestH49OldPrimaryStays(t *testing.T) {
	t.Parallel()
	w := startWatched(t)
	for _, node := range w.sentinels.Nodes() {
		if _, err := node.Command("SENTINEL", "DEBUG", "PUBLISH-PERIOD", "2000"); err != nil {
			t.Fatal(err)
		}
	}
	work := underLoad(t, w.url, "x", 3, redislock.Options{})
	work.goesOn(recovery)
	work.mayLose()
	must(t, w.sentinels.Failover())
	work.goesOn(recovery)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
