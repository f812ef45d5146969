package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// MoveSlot moves a slot and its keys from its primary to another, as redis-cli does it: clients may use the slot meanwhile, and
// are told to ask or to move. It returns once all nodes that answer know. After an error the slot may be on its way.
func (c *RedisCluster) MoveSlot(slot int, to *Redis) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	from := c.NodeOf(slot)
	switch from {
	case nil:
		return fmt.Errorf("move slot %d: no node that answers has it", slot)
	case to:
		return nil
	}
	number := strconv.Itoa(slot)
	if _, err := to.ask(ctx, "CLUSTER", "SETSLOT", number, "IMPORTING", from.id); err != nil {
		return err
	}
	if _, err := from.ask(ctx, "CLUSTER", "SETSLOT", number, "MIGRATING", to.id); err != nil {
		return err
	}
	if err := from.migrate(ctx, number, to); err != nil {
		return err
	}
	// The new one first: if it failed between the two, the old one would send clients to where nobody has the slot.
	others := slices.DeleteFunc(c.answering(), func(node *Redis) bool { return node == to || node == from })
	for _, node := range append([]*Redis{to, from}, others...) {
		self, err := node.member(ctx, node.id)
		if err != nil {
			return err
		}
		if !self.is("master") { // replicas learn it, and are not told
			continue
		}
		if _, err := node.ask(ctx, "CLUSTER", "SETSLOT", number, "NODE", to.id); err != nil {
			return err
		}
	}
	return c.agree(ctx, to, func(m member) bool { return m.has(slot) })
}

// migrate moves the keys of a slot that is marked for it.
func (r *Redis) migrate(ctx context.Context, slot string, to *Redis) error {
	for {
		keys, err := r.ask(ctx, "CLUSTER", "GETKEYSINSLOT", slot, "100")
		if err != nil || len(keys) == 0 {
			return err
		}
		command := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(to.port), "", "0", "5000", "KEYS"}
		if _, err := r.ask(ctx, append(command, keys...)...); err != nil {
			return err
		}
	}
}

// Failover has a replica of a primary take its place, in agreement with it: no write is lost. It returns once all nodes that
// answer know, and the old primary follows the new one. That takes some seconds if the replica was a primary just before.
func (c *RedisCluster) Failover(of *Redis) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	before, err := of.member(ctx, of.id)
	if err != nil {
		return err
	}
	if !before.is("master") {
		return fmt.Errorf("fail over: the node on port %d is no primary", of.port)
	}
	replica, err := c.replica(ctx, of)
	if err != nil {
		return err
	}
	if err := replica.takeOver(ctx, before.epoch); err != nil {
		return err
	}
	return errors.Join(
		c.agree(ctx, replica, func(m member) bool { return m.is("master") && slices.Equal(m.slots, before.slots) }),
		c.agree(ctx, of, func(m member) bool { return m.primary == replica.id }),
		of.follows(ctx, replica),
	)
}

// replica gives the first replica of a primary that answers.
func (c *RedisCluster) replica(ctx context.Context, of *Redis) (*Redis, error) {
	for _, node := range c.answering() {
		self, err := node.member(ctx, node.id)
		if err != nil {
			return nil, err
		}
		if self.primary == of.id {
			return node, nil
		}
	}
	return nil, fmt.Errorf("fail over: the node on port %d has no replica that answers", of.port)
}

// oldElection is how long a node with a cluster-node-timeout of 1 s goes on counting the votes of an election that it has
// won: twice its time-out for votes, which is 2 s. Asked to take over again before, Redis 7.0 counts the old votes, and is a
// primary with the epoch of then: the others refuse it, and what it has been told meanwhile is lost.
const oldElection = 4*time.Second + 200*time.Millisecond

// takeOver asks a replica to take its primary's place until it has done so. A replica gives up by itself after 5 s, as when
// too few primaries vote for it: they do not within two seconds after they have voted for another of the same primary.
func (r *Redis) takeOver(ctx context.Context, since int64) error {
	next := r.elected.Add(oldElection)
	return untilRedis(ctx, func(ctx context.Context) error {
		self, err := r.member(ctx, r.id)
		if err != nil {
			return err
		}
		if self.is("master") && self.epoch > since {
			r.elected = time.Now()
			return nil
		}
		if time.Now().After(next) {
			if _, err := r.ask(ctx, "CLUSTER", "FAILOVER"); err != nil {
				return err
			}
			next = time.Now().Add(6 * time.Second)
		}
		return fmt.Errorf("the node on port %d is still a replica", r.port)
	})
}
