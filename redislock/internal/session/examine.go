package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenurelock/tenure/driver"
)

// ErrEvicts says that the server may drop keys to make room, and held locks are among the first.
var ErrEvicts = errors.New("the server may evict held locks")

// examine looks whether the server is fit, and what it allows.
func (s *Store) examine(ctx context.Context) error {
	nodes := map[string]rueidis.Client{"": s.client}
	if s.opts.Cluster { // whose client asks any node
		nodes = s.client.Nodes()
	}
	for _, node := range nodes {
		info, err := node.Do(ctx, node.B().Info().Build()).ToString()
		switch {
		case forbidden(err):
			s.opts.Grace = 0 // the scripts could not tell one reign of the server from another
			s.blind = true
		case err != nil && s.opts.Cluster: // it may be down, and its replica about to be promoted
		case err != nil:
			return s.fault(0, err)
		default:
			if err := s.fit(infoOf(info)); err != nil {
				return err
			}
		}
	}
	if forbidden(s.client.Do(ctx, s.client.B().PubsubNumsub().Channel("tenure:").Build()).Error()) {
		s.opts.Grace = 0 // nor whether anybody listens
	}
	if s.deaf = forbidden(s.trySubscription(ctx)); s.deaf {
		s.opts.Grace = 0 // nobody could tell it from a crashed one
	}
	if s.opts.Cluster {
		s.opts.Grace = 0 // a node knows its own subscribers only
	}
	return nil
}

// trySubscription subscribes, and leaves it at that.
func (s *Store) trySubscription(ctx context.Context) error {
	conn, release := s.client.Dedicate()
	defer release()
	defer conn.Close()
	return conn.Do(ctx, conn.B().Subscribe().Channel("tenure:"+driver.NewSession()).Build()).Error()
}

func infoOf(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[key] = value
		}
	}
	return fields
}

// fit judges what the server says of itself.
func (s *Store) fit(info map[string]string) error {
	version := info["redis_version"] // Valkey says 7.2.4 there
	if !atLeast(version, 6, 2) {
		return lasting(fmt.Errorf("%s is Redis %s; 6.2 or newer is needed, or Valkey", s.opts.Address, version))
	}
	if policy := info["maxmemory_policy"]; policy != "noeviction" && policy != "" && info["maxmemory"] != "0" {
		return lasting(fmt.Errorf("%s: %w: its maxmemory-policy is %s, under which keys that expire, as locks must, are dropped when memory is "+
			"full. Set maxmemory-policy noeviction, or use a server of its own for locks", s.opts.Address, ErrEvicts, policy))
	}
	if info["role"] == "slave" && !s.opts.Cluster {
		return passing(fmt.Errorf("%s is a replica: name its primary, or the Sentinels that know it", s.opts.Address))
	}
	return nil
}

func atLeast(version string, major, minor int) bool {
	parts := append(strings.Split(version, "."), "", "")
	a, err := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	return err == nil && err2 == nil && (a > major || a == major && b >= minor)
}

// describe says what the store is and promises.
func (s *Store) describe() driver.Info {
	return driver.Info{
		Kind: "redis", Address: s.opts.Address, Session: driver.NewSession(), TTL: s.opts.TTL,
		Valid:      func(terms driver.Terms) time.Duration { return s.validOf(terms) },
		Features:   driver.CanShare | driver.CanSlots | driver.CanRemember,
		Guarantees: s.guarantees(),
	}
}
