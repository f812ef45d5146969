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

// startWatched has Sentinels that hold a server for dead after so long: more than one stands on a busy machine.
func startWatched(t *testing.T, downAfter time.Duration) *watched {
	t.Helper()
	primary := servers.StartRedis(t, servers.RedisOptions{})
	w := &watched{t: t, nodes: []*servers.Redis{primary}}
	for range 2 {
		w.nodes = append(w.nodes, primary.Replica(t, servers.RedisOptions{}))
	}
	w.sentinels = servers.StartSentinels(t, primary, 3, servers.SentinelOptions{DownAfter: downAfter})
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

// demoted waits until a server that was the primary is a replica.
func (w *watched) demoted(old *servers.Redis) {
	w.t.Helper()
	until(w.t, time.Minute, "the old primary is a replica", func() bool {
		role, err := old.Command("ROLE")
		return err == nil && strings.HasPrefix(role, "slave")
	})
}

// serves waits until grants of a name are made at the primary that the Sentinels name.
func (w *watched) serves(name string) {
	w.t.Helper()
	state := func() string {
		said, err := w.primary().Command("GET", "{"+name+"}:tenure1:state")
		must(w.t, err)
		return said
	}
	before := state()
	until(w.t, recovery, "a grant at the new primary", func() bool { return state() != before })
}

// dies kills the primary, and returns once the Sentinels name another one.
func (w *watched) dies() {
	w.t.Helper()
	old := w.primary()
	must(w.t, old.Kill())
	until(w.t, time.Minute, "there is another primary", func() bool {
		address, err := w.sentinels.Master()
		return err == nil && address != old.Address()
	})
}

// TestH49Sentinel: a planned failover and then a killed primary, under load: leases go on at the new primary, and tokens rise.
func TestH49Sentinel(t *testing.T) {
	t.Parallel()
	w := startWatched(t, 3*time.Second)
	work := underLoad(t, w.url, "x", 3, redislock.Options{TTL: 3 * time.Second})
	work.goesOn(recovery)
	work.mayLose()
	old := w.primary()
	must(t, w.sentinels.Failover())
	w.demoted(old)
	w.serves("x")
	work.goesOn(recovery)
	work.mayLose()
	w.dies()
	w.serves("x")
	work.goesOn(recovery)
}

// TestH49OldPrimaryStays one after a planned failover for as long as the test runs, and for some seconds with the Sentinels of
// users: sessions do not go on listening there, and what they gave back there in the last moment does not stay held.
func TestH49OldPrimaryStays(t *testing.T) {
	t.Parallel()
	w := startWatched(t, time.Minute)
	for _, node := range w.sentinels.Nodes() {
		_, err := node.Command("SENTINEL", "DEBUG", "PUBLISH-PERIOD", "15000") // of which four pass before they demote it
		must(t, err)
	}
	work := underLoad(t, w.url, "x", 3, redislock.Options{})
	work.goesOn(recovery)
	work.mayLose()
	old := w.primary()
	must(t, w.sentinels.Failover())
	w.serves("x")
	work.goesOn(recovery)
	if role, err := old.Command("ROLE"); err != nil || !strings.HasPrefix(role, "master") {
		t.Errorf("the old primary has not stayed one: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
