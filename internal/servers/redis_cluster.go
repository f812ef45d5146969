package servers

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/netfault/loopback"
)

// RedisSlots is how many slots the keys of a cluster are spread over.
const RedisSlots = 16384

// RedisCluster is a Redis Cluster whose nodes this process has started.
type RedisCluster struct {
	nodes []*Redis // primaries first, then replicas, in turns of a primary each
}

// inCluster is what a server has that is a node of a cluster.
type inCluster struct {
	id      string
	busPort int       // where the other nodes reach it
	elected time.Time // when RedisCluster.Failover has last made it a primary
}

// StartRedisCluster starts a cluster of so many primaries, at least three if it is to fail over, each with so many replicas,
// and stops it when the test ends. It returns once all nodes hold the cluster for complete and the replicas have their
// copies. Primaries have even parts of the slots, in their order among Nodes.
//
// A node that does not answer for a second has failed. No replica moves to another primary by itself.
func StartRedisCluster(t testing.TB, masters, replicas int) *RedisCluster {
	t.Helper()
	c := &RedisCluster{}
	for range masters * (1 + replicas) {
		c.nodes = append(c.nodes, StartRedis(t, RedisOptions{Settings: map[string]string{
			"cluster-enabled":                 "yes",
			"cluster-node-timeout":            "1000",
			"cluster-allow-replica-migration": "no",
		}}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.join(ctx, masters); err != nil {
		t.Fatal(err)
	}
	return c
}

// chooseBusPort gives a node of a cluster, or what its settings make one, a port for the others. Without it that would be
// the node's own plus 10000, which outgoing connections use.
func (r *Redis) chooseBusPort(settings map[string]string) error {
	if r.options.Settings["cluster-enabled"] != "yes" {
		return nil
	}
	var err error
	if r.busPort, err = loopback.Port(); err != nil {
		return err
	}
	maps.Copy(settings, map[string]string{"cluster-port": strconv.Itoa(r.busPort), "cluster-announce-ip": "127.0.0.1"})
	return nil
}

// join makes a cluster of nodes that know nothing yet.
func (c *RedisCluster) join(ctx context.Context, masters int) error {
	for i, node := range c.nodes {
		said, err := node.ask(ctx, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		node.id = said[0]
		// Else all begin with the same, and have to sort that out.
		if _, err := node.ask(ctx, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
	}
	for i, node := range c.nodes[:masters] {
		from, to := RedisSlots*i/masters, RedisSlots*(i+1)/masters-1
		if _, err := node.ask(ctx, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)); err != nil {
			return err
		}
	}
	for i, node := range c.nodes {
		for _, other := range c.nodes[:i] { // each pair, so that nobody waits for rumours
			_, err := node.ask(ctx, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.port), strconv.Itoa(other.busPort))
			if err != nil {
				return err
			}
		}
	}
	if err := untilRedis(ctx, func(ctx context.Context) error { return c.complete(ctx, 0) }); err != nil {
		return err
	}
	for i, node := range c.nodes[masters:] {
		if _, err := node.ask(ctx, "CLUSTER", "REPLICATE", c.nodes[i%masters].id); err != nil {
			return err
		}
	}
	for i, node := range c.nodes[masters:] {
		if err := node.follows(ctx, c.nodes[i%masters]); err != nil {
			return err
		}
	}
	return untilRedis(ctx, func(ctx context.Context) error { return c.complete(ctx, len(c.nodes)-masters) })
}

// complete says what some node misses, and nil if each knows all nodes, so many replicas, and the primary of each slot.
func (c *RedisCluster) complete(ctx context.Context, replicas int) error {
	for _, node := range c.nodes {
		said, err := node.ask(ctx, "CLUSTER", "INFO")
		if err != nil {
			return err
		}
		info := redisFields(said[0])
		for name, want := range map[string]string{
			"cluster_state":       "ok",
			"cluster_slots_ok":    strconv.Itoa(RedisSlots),
			"cluster_known_nodes": strconv.Itoa(len(c.nodes)),
		} {
			if info[name] != want {
				return fmt.Errorf("%s of the node on port %d is %s instead of %s", name, node.port, info[name], want)
			}
		}
		members, err := node.members(ctx)
		if err != nil {
			return err
		}
		found := 0
		for _, member := range members {
			if !member.well() {
				return fmt.Errorf("for the node on port %d, the one on port %d is %s", node.port, member.port, member)
			}
			if member.primary != "" {
				found++
			}
		}
		if found != replicas {
			return fmt.Errorf("the node on port %d knows %d of %d replicas", node.port, found, replicas)
		}
	}
	return nil
}

// Nodes are the nodes one by one, to be broken: first those that were made primaries, then the first replica of each, and so
// on.
func (c *RedisCluster) Nodes() []*Redis { return c.nodes }

// Addresses are the hosts and ports of the nodes, in the order of Nodes.
func (c *RedisCluster) Addresses() []string { return addresses(c.nodes) }
