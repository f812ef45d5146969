package servers_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
)

func lines(text string) []string { return strings.Split(text, "\n") }

// TestRedisCluster spreads its slots, moves one with its keys, and puts replicas in the place of primaries, asked or not.
func TestRedisCluster(t *testing.T) {
	cluster := servers.StartRedisCluster(t, 3, 1)
	nodes := cluster.Nodes()
	if len(nodes) != 6 || len(cluster.Addresses()) != 6 || cluster.Addresses()[5] != nodes[5].Address() {
		t.Fatalf("the nodes are %v", cluster.Addresses())
	}
	for slot, primary := range map[int]*servers.Redis{
		0: nodes[0], 5460: nodes[0], 5461: nodes[1], 10921: nodes[1], 10922: nodes[2], servers.RedisSlots - 1: nodes[2],
	} {
		if cluster.NodeOf(slot) != primary {
			t.Errorf("the slot %d is elsewhere", slot)
		}
	}
	for _, node := range nodes {
		said, err := node.Command("CONFIG", "GET", "cluster-port")
		must(t, err)
		if port, err := strconv.Atoi(lines(said)[1]); err != nil || port == 0 || port >= 32768 {
			t.Errorf("the others reach the node at %s", lines(said)[1])
		}
	}

	said, err := nodes[0].Command("CLUSTER", "KEYSLOT", "{keys}")
	must(t, err)
	slot, err := strconv.Atoi(said)
	must(t, err)
	first := cluster.NodeOf(slot)
	for i := range 250 { // more than are moved at once
		says(t, first, "OK", "SET", fmt.Sprintf("{keys}%d", i), "value\n")
	}
	t.Run("MoveSlot", func(t *testing.T) {
		to := nodes[0]
		if to == first {
			to = nodes[1]
		}
		must(t, cluster.MoveSlot(slot, to))
		must(t, cluster.MoveSlot(slot, to)) // it is there, as wanted
		if cluster.NodeOf(slot) != to {
			t.Fatal("the slot has not moved")
		}
		says(t, to, "250", "CLUSTER", "COUNTKEYSINSLOT", said)
		says(t, to, "value\n", "GET", "{keys}249")
		says(t, first, "0", "CLUSTER", "COUNTKEYSINSLOT", said)
		refuses(t, first, "MOVED "+said+" "+to.Address(), "GET", "{keys}0")
		replica := nodes[3]
		if to == nodes[1] {
			replica = nodes[4]
		}
		must(t, replica.CaughtUp(t.Context(), to))
		if cluster.MoveSlot(slot, replica) == nil {
			t.Error("a replica has a slot")
		}
	})
	t.Run("Failover", func(t *testing.T) {
		for range 3 { // to the replica, back, and again
			old := cluster.NodeOf(slot)
			must(t, cluster.Failover(old))
			now := cluster.NodeOf(slot)
			if now == old || now == nil {
				t.Fatal("the primary is the same")
			}
			says(t, now, "250", "CLUSTER", "COUNTKEYSINSLOT", said)
			refuses(t, old, "MOVED", "GET", "{keys}0")
			if cluster.Failover(old) == nil {
				t.Error("a replica fails over")
			}
		}
	})
	t.Run("a primary dies", func(t *testing.T) {
		old := cluster.NodeOf(slot)
		must(t, old.Kill())
		eventually(t, "its replica has its place", func() bool { return cluster.NodeOf(slot) != nil })
		now := cluster.NodeOf(slot)
		eventually(t, "it answers", func() bool { return answers(now, "value\n", "GET", "{keys}7") })
		if cluster.Failover(now) == nil {
			t.Error("there was a failover to a replica that is dead")
		}
		must(t, old.Start())
		must(t, old.CaughtUp(t.Context(), now))
	})
}

func answers(server *servers.Redis, want string, command ...string) bool {
	got, err := server.Command(command...)
	return err == nil && got == want
}

// TestRedisClusterWithoutReplicas: a slot of a node that is down has no primary, and the rest can be set to go on.
func TestRedisClusterWithoutReplicas(t *testing.T) {
	cluster := servers.StartRedisCluster(t, 3, 0)
	node := cluster.NodeOf(0)
	if cluster.Failover(node) == nil {
		t.Error("there was a failover without a replica")
	}
	must(t, node.Pause())
	if cluster.NodeOf(0) != nil || cluster.MoveSlot(0, cluster.NodeOf(servers.RedisSlots-1)) == nil {
		t.Error("the slot of a node that is paused has a primary, or moves")
	}
	must(t, node.Continue())
	if cluster.NodeOf(0) != node {
		t.Error("the slot is elsewhere")
	}
	must(t, node.Kill())
	must(t, node.Start())
	if cluster.NodeOf(0) != node {
		t.Error("a node forgets its slots when it is killed")
	}
	eventually(t, "it is in the cluster again", func() bool {
		said, err := node.Command("CLUSTER", "INFO")
		return err == nil && strings.Contains(said, "cluster_state:ok")
	})
}
