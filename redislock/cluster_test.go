package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/locktest"
	"github.com/tenurelock/tenure/redislock"
)

// TestClusterRules runs the rules of every store over a Cluster.
func TestClusterRules(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	t.Run("rules", func(t *testing.T) { // in a group, so that the servers outlive the rules, which are parallel
		locktest.Run(t, locktest.Harness{
			Open:    func(context.Context) (driver.Store, error) { return reopen(c.url) },
			Freed:   1500 * time.Millisecond,
			Address: c.url, Reopen: reopen,
			Seeds: 1,
		})
	})
}

// TestH45Cluster uses one Cluster for all that is about nodes, slots and names.
func TestH45Cluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	t.Run("Names", c.names)
	t.Run("HandOffs", c.handOffs)
	t.Run("MovedSlots", c.movedSlots)
	t.Run("Failovers", c.failovers)
}

type cluster struct {
	*servers.RedisCluster
	url string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{RedisCluster: servers.StartRedisCluster(t, 3, 1)}
	c.url = "redis+cluster://" + strings.Join(c.Addresses(), ",")
	c.failsAfter(t, 10*time.Second) // none stands for so long on a busy machine, and what is planned loses nothing
	return c
}

// failsAfter says how long a node must not answer to be held for dead.
func (c *cluster) failsAfter(t *testing.T, timeout time.Duration) {
	t.Helper()
	for _, node := range c.Nodes() {
		_, err := node.Command("CONFIG", "SET", "cluster-node-timeout", fmt.Sprint(timeout.Milliseconds()))
		must(t, err)
	}
}

// names of all kinds are locked, waited for, and handed on.
func (c *cluster) names(t *testing.T) {
	var all []*member
	for range 3 {
		all = append(all, c.member(t, redislock.Options{}))
	}
	for _, name := range []string{
		"a", "report/daily", "{x}", "x", "{x}:y", "a}b", "a{}b", "{}x", "}{", "{", "}", "{{a}}", "{a}{b}", "é b", "a{b", "tenure:", "{a}b}c",
	} {
		queue(t, all, name)
	}
}

// handOffs pass between sessions that listen at different nodes, at each primary, and nobody waits for its next question.
func (c *cluster) handOffs(t *testing.T) {
	at := make(map[*servers.Redis]*member) // by where its subscription is
	for tries := 0; len(at) < 4; tries++ {
		if tries == 100 {
			t.Fatalf("%d sessions listen at %d nodes", tries, len(at))
		}
		m := c.member(t, redislock.Options{})
		if node := c.listensAt(t, m); at[node] == nil {
			at[node] = m
		} else {
			m.close(t)
		}
	}
	var all []*member
	for _, m := range at {
		all = append(all, m)
	}
	began, passed := time.Now(), 0
	for _, node := range c.Nodes()[:3] {
		name := c.nameAt(t, node)
		for range len(all) {
			all = append(all[1:], all[0])
			queue(t, all, name)
			passed += len(all) - 1
		}
	}
	each := time.Since(began) / time.Duration(passed)
	t.Logf("%v for each of %d hand-offs", each, passed)
	if each > time.Second { // a question comes two seconds after the last
		t.Errorf("a hand-off takes %v: the pushes do not arrive", each)
	}
}

// movedSlots: slots move from node to node while their locks are held, waited for, renewed, and released.
func (c *cluster) movedSlots(t *testing.T) {
	const key = "{moved}"
	slot := c.slot(t, key)
	// What makes a move last for a while.
	_, err := c.NodeOf(slot).Command("EVAL", "for i = 1, 4000 do redis.call('SET', KEYS[1] .. i, string.rep('x', 1000)) end", "1", key+"filler")
	must(t, err)
	work := underLoad(t, c.url, key, 3, redislock.Options{TTL: 3 * time.Second})
	work.goesOn(recovery)

	holder, waiter := c.member(t, redislock.Options{TTL: 2 * time.Second}), c.member(t, redislock.Options{TTL: 2 * time.Second})
	for round := range 3 {
		name := fmt.Sprint(key, round)
		held := holder.take(t, name)
		next := waiter.waitFor(t, name)
		for _, to := range c.Nodes()[:3] {
			if c.NodeOf(slot) == to {
				continue
			}
			must(t, c.MoveSlot(slot, to))
			renewals := holder.renewals.Load()
			until(t, recovery, "a renewal after the move", func() bool { return holder.renewals.Load() > renewals })
			work.goesOn(recovery)
		}
		must(t, held.Err())
		moving := make(chan error, 1)
		go func() { moving <- c.MoveSlot(slot, c.Nodes()[round%2]) }()
		if err := held.Release(t.Context()); err != nil {
			t.Errorf("release while the slot moves: %v", err)
		}
		lease := got(t, next)
		must(t, <-moving)
		if lease.Token() <= held.Token() {
			t.Errorf("token %v after %v", lease.Token(), held.Token())
		}
		must(t, lease.Release(t.Context()))
	}
}

// failovers, in agreement with the old primary, which lose nothing, and by its death, which may.
func (c *cluster) failovers(t *testing.T) {
	const key = "{failed}"
	slot := c.slot(t, key)
	work := underLoad(t, c.url, key, 3, redislock.Options{TTL: 3 * time.Second})
	work.goesOn(recovery)
	holder, waiter := c.member(t, redislock.Options{}), c.member(t, redislock.Options{})
	held := holder.take(t, key+"held")
	next := waiter.waitFor(t, key+"held")

	must(t, c.Failover(c.NodeOf(slot)))
	work.goesOn(recovery)
	must(t, held.Err())
	if err := held.Release(t.Context()); err != nil {
		t.Errorf("release after a failover: %v", err)
	}
	lease := got(t, next)
	if lease.Token() <= held.Token() {
		t.Errorf("token %v after %v", lease.Token(), held.Token())
	}
	must(t, lease.Release(t.Context()))

	work.mayLose()
	c.failsAfter(t, time.Second)
	must(t, c.NodeOf(slot).Kill())
	work.goesOn(recovery)
}

// member is a session of a Cluster.
type member struct {
	store    *redislock.Store
	locker   *tenure.Locker
	waits    chan string
	renewals atomic.Int64 // that were answered
}

func (c *cluster) member(t *testing.T, opts redislock.Options) *member {
	t.Helper()
	m := &member{store: open(t, c.url, opts), waits: make(chan string, 16)}
	m.locker = lockerOf(t, m.store, &tenure.Observer{
		Wait: func(name string, _ *tenure.Holder) { m.waits <- name },
		Renew: func(_ *tenure.Lease, err error) {
			if err == nil {
				m.renewals.Add(1)
			}
		},
	})
	return m
}

func (m *member) close(t *testing.T) {
	t.Helper()
	must(t, m.locker.Close(t.Context()))
	must(t, m.store.Close(t.Context()))
}

// take is granted a name that is free.
func (m *member) take(t *testing.T, name string) *tenure.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	lease, err := m.locker.Acquire(ctx, name)
	if err != nil {
		t.Fatalf("acquire %q: %v", name, err)
	}
	return lease
}

type outcome struct {
	lease *tenure.Lease
	err   error
}

// waitFor waits for a name that is held, and returns when the server has said that it does.
func (m *member) waitFor(t *testing.T, name string) <-chan outcome {
	t.Helper()
	done := make(chan outcome, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go func() {
		defer cancel()
		lease, err := m.locker.Acquire(ctx, name)
		done <- outcome{lease, err}
	}()
	select {
	case <-m.waits:
	case o := <-done:
		t.Fatalf("%q is held, and was granted: %v", name, o.err)
	case <-time.After(recovery):
		t.Fatalf("nobody said that %q is waited for", name)
	}
	return done
}

func got(t *testing.T, waiting <-chan outcome) *tenure.Lease {
	t.Helper()
	select {
	case o := <-waiting:
		must(t, o.err)
		return o.lease
	case <-time.After(recovery):
		t.Fatalf("no lease within %v", recovery)
		return nil
	}
}

// queue has the first session hold a name, and the others get it in the order of their asking.
func queue(t *testing.T, all []*member, name string) {
	t.Helper()
	lease := all[0].take(t, name)
	var waiting []<-chan outcome
	for _, m := range all[1:] {
		waiting = append(waiting, m.waitFor(t, name))
	}
	for i, next := range waiting {
		token := lease.Token()
		if err := lease.Release(t.Context()); err != nil {
			t.Fatalf("release %q: %v", name, err)
		}
		if lease = got(t, next); lease.Token() <= token {
			t.Errorf("%q: token %v after %v", name, lease.Token(), token)
		}
		for _, later := range waiting[i+1:] {
			if len(later) > 0 {
				t.Errorf("%q: a later waiter was granted before number %d", name, i+1)
			}
		}
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatalf("release %q: %v", name, err)
	}
}

func (c *cluster) slot(t *testing.T, key string) (slot int) {
	t.Helper()
	text, err := c.Nodes()[0].Command("CLUSTER", "KEYSLOT", key)
	must(t, err)
	_, err = fmt.Sscan(text, &slot)
	must(t, err)
	return slot
}

// nameAt finds a name whose slot is at a node.
func (c *cluster) nameAt(t *testing.T, node *servers.Redis) string {
	t.Helper()
	for i := range 1000 {
		if name := fmt.Sprint("name", i); c.NodeOf(c.slot(t, name)) == node {
			return name
		}
	}
	t.Fatal("no name is at a node")
	return ""
}

// listensAt is the node where a session's subscription is.
func (c *cluster) listensAt(t *testing.T, m *member) *servers.Redis {
	t.Helper()
	channel := "tenure:" + m.store.Info().Session
	for _, node := range c.Nodes() {
		said, err := node.Command("PUBSUB", "NUMSUB", channel)
		must(t, err)
		if said == channel+"\n1" {
			return node
		}
	}
	t.Fatal("a session listens nowhere")
	return nil
}

// until waits for something that is to come.
func until(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}
