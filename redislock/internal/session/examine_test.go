package session

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
)

// as opens a session as a user who may do no more than the rules say.
func as(t *testing.T, own *servers.Redis, rules ...string) *Store {
	t.Helper()
	if _, err := own.Command(append([]string{"ACL", "SETUSER"}, rules...)...); err != nil {
		t.Fatal(err)
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{own.Address()}, Username: rules[0], Password: "password", DisableCache: true, DisableRetry: true,
		PipelineMultiplex: -1, ForceSingleClient: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), client, Options{TTL: 30 * time.Second, Grace: 2 * time.Second, Address: "redis", Own: true, Prefix: "app:"})
	if err != nil {
		client.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	return s
}

// TestPermissions: what docs/redis.md asks an administrator to allow is enough, and no more than is used goes missing unseen.
func TestPermissions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "ACL SETUSER ")
	line, _, _ := strings.Cut(rest, "\n")
	if !found {
		t.Fatal("docs/redis.md names no permissions")
	}
	own := servers.StartRedis(t, servers.RedisOptions{})
	rules := strings.Fields(line)
	s := as(t, own, rules...)
	if s.opts.Grace == 0 || s.blind {
		t.Error("there is no grace, or the server was not looked at")
	}
	named := func(r *driver.Request) { r.Key = "app:" + r.Name }
	c := s.take(t, "x", named)
	w := as(t, own, rules...).waitFor(t, "x", named)
	if _, err := c.renew(); err != nil {
		t.Error(err)
	}
	c.releases()
	w.granted(prompt).releases()
	if _, err := s.Inspect(t.Context(), "x"); err != nil {
		t.Error(err)
	}

	for without, blind := range map[string]bool{"-info": true, "-pubsub|numsub": false} {
		s := as(t, own, append(append([]string{}, rules...), without)...)
		if s.opts.Grace != 0 || s.blind != blind {
			t.Errorf("%s: a grace of %v, blind: %v", without, s.opts.Grace, s.blind)
		}
		c := s.take(t, "y", named)
		w := s.waitFor(t, "y", named)
		c.releases()
		w.granted(prompt).releases() // by asking, where counts are not to be had
	}
	for _, without := range []string{"-publish", "-subscribe"} { // H48
		s = as(t, own, append(append([]string{}, rules...), without)...)
		c = s.take(t, "z", named)
		w = s.waitFor(t, "z", named, func(r *driver.Request) { r.Terms.TTL = 4 * time.Second })
		c.releases()
		w.granted(prompt).releases()
	}
}

// TestH46EvictingServersAreRefused, when they may come to it.
func TestH46EvictingServersAreRefused(t *testing.T) {
	t.Parallel()
	for policy, memory := range map[string]string{"volatile-lru": "100mb", "allkeys-random": "100mb", "noeviction": "100mb", "volatile-ttl": "0"} {
		own := servers.StartRedis(t, servers.RedisOptions{Settings: map[string]string{"maxmemory-policy": policy, "maxmemory": memory}})
		s, err := open(t.Context(), own.Address())
		if wanted := policy != "noeviction" && memory != "0"; wanted != errors.Is(err, ErrEvicts) {
			t.Errorf("%s with %s: %v", policy, memory, err)
		}
		if err == nil {
			_ = s.Close(t.Context())
		}
	}
}

// TestReplicasAreRefused: a lock that is taken there is nobody's.
func TestReplicasAreRefused(t *testing.T) {
	t.Parallel()
	primary := servers.StartRedis(t, servers.RedisOptions{})
	replica := primary.Replica(t, servers.RedisOptions{})
	if s, err := open(t.Context(), replica.Address()); err == nil || !strings.Contains(err.Error(), "is a replica") {
		t.Errorf("%v", err)
		if err == nil {
			_ = s.Close(t.Context())
		}
	}
}

// TestFullMemory: what frees memory passes although it is full, so nothing is stuck, and who asks is told what is wrong.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	own := servers.StartRedis(t, servers.RedisOptions{})
	s := startAt(t, own.Address())
	c := s.take(t, "full")
	w := startAt(t, own.Address()).waitFor(t, "full")
	if _, err := own.Command("CONFIG", "SET", "maxmemory", "1"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.renew(); err != nil {
		t.Errorf("renew: %v", err)
	}
	refused := s.caller(t, "other")
	if refused.acquire(t.Context()); refused.err == nil || !strings.Contains(refused.err.Error(), "memory is full") {
		t.Errorf("acquire: %v", refused.err)
	}
	c.releases()
	w.granted(prompt).releases()
}

// TestH51TooFewReplicas: a refusal of all writes has its reason, and is a passing one.
func TestH51TooFewReplicas(t *testing.T) {
	t.Parallel()
	own := servers.StartRedis(t, servers.RedisOptions{})
	s := startAt(t, own.Address())
	c := s.take(t, "x")
	if _, err := own.Command("CONFIG", "SET", "min-replicas-to-write", "1"); err != nil {
		t.Fatal(err)
	}
	_, renewed := c.renew()
	for what, err := range map[string]error{"renew": renewed, "release": c.release()} {
		var fault *driver.Fault
		if !errors.As(err, &fault) || fault.Kind != driver.Passing || !strings.Contains(err.Error(), "too few replicas") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
