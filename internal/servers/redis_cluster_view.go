package servers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// member is a node of a cluster as one of them sees it.
type member struct {
	id      string
	port    int
	flags   []string
	primary string // the id of a replica's; empty for a primary
	epoch   int64  // of two that claim a slot, the one with the higher has it
	linked  bool
	slots   []string // as "0-5460" or "5461"; those that move are named again, in brackets
}

func (m member) is(flag string) bool { return slices.Contains(m.flags, flag) }

// well says that the node is known for what it is, and neither lost nor in doubt.
func (m member) well() bool {
	for _, flag := range m.flags {
		if flag != "myself" && flag != "master" && flag != "slave" {
			return false
		}
	}
	return m.linked
}

func (m member) String() string {
	if !m.linked {
		return strings.Join(m.flags, ",") + " and disconnected"
	}
	return strings.Join(m.flags, ",")
}

func (m member) has(slot int) bool {
	return slices.ContainsFunc(m.slots, func(part string) bool {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		return err1 == nil && err2 == nil && from <= slot && slot <= to
	})
}

// members gives the cluster as this node sees it.
func (r *Redis) members(ctx context.Context) ([]member, error) {
	said, err := r.ask(ctx, "CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	var all []member
	for line := range strings.Lines(said[0]) {
		fields := strings.Fields(line) // id, host:port@bus, flags, primary, ping, pong, epoch, link, slots
		if len(fields) < 8 {
			return nil, fmt.Errorf("CLUSTER NODES on port %d gives %q", r.port, line)
		}
		m := member{id: fields[0], flags: strings.Split(fields[2], ","), linked: fields[7] == "connected", slots: fields[8:]}
		if fields[3] != "-" {
			m.primary = fields[3]
		}
		address, _, _ := strings.Cut(fields[1], "@")
		if m.port, err = strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:]); err != nil {
			return nil, fmt.Errorf("CLUSTER NODES on port %d gives %q: %w", r.port, line, err)
		}
		if m.epoch, err = strconv.ParseInt(fields[6], 10, 64); err != nil {
			return nil, fmt.Errorf("CLUSTER NODES on port %d gives %q: %w", r.port, line, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// member gives one node as this one sees it; nothing if it does not know it.
func (r *Redis) member(ctx context.Context, id string) (member, error) {
	all, err := r.members(ctx)
	if err != nil {
		return member{}, err
	}
	for _, m := range all {
		if m.id == id {
			return m, nil
		}
	}
	return member{}, nil
}

// NodeOf gives the primary of a slot, as the primaries themselves see it; nil if none of those that run has it, as between
// the death of one and the rise of its replica.
func (c *RedisCluster) NodeOf(slot int) *Redis {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var owner *Redis
	var epoch int64
	for _, node := range c.answering() {
		m, err := node.member(ctx, node.id)
		if err == nil && m.is("master") && m.has(slot) && m.epoch >= epoch {
			owner, epoch = node, m.epoch
		}
	}
	return owner
}

// answering are the nodes that run and are not paused.
func (c *RedisCluster) answering() []*Redis {
	var all []*Redis
	for _, node := range c.nodes {
		if node.answers() {
			all = append(all, node)
		}
	}
	return all
}

// agree waits until all nodes that answer hold the cluster for well and say of one of its nodes what they should.
func (c *RedisCluster) agree(ctx context.Context, about *Redis, check func(member) bool) error {
	return untilRedis(ctx, func(ctx context.Context) error {
		for _, node := range c.answering() {
			said, err := node.ask(ctx, "CLUSTER", "INFO")
			if err != nil {
				return err
			}
			if state := redisFields(said[0])["cluster_state"]; state != "ok" {
				return fmt.Errorf("cluster_state of the node on port %d is %s", node.port, state)
			}
			m, err := node.member(ctx, about.id)
			if err != nil {
				return err
			}
			if !check(m) {
				return fmt.Errorf("for the node on port %d, the one on port %d is %s with the slots %v", node.port, about.port, m, m.slots)
			}
		}
		return nil
	})
}
