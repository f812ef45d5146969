package servers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestRedisReplica has what the primary wrote, and becomes a primary that lacks what came after.
func TestRedisReplica(t *testing.T) {
	for _, settings := range []map[string]string{nil, {"requirepass": "secret"}} {
		primary := servers.StartRedis(t, servers.RedisOptions{Settings: settings})
		says(t, primary, "OK", "SET", "before", "1")
		replica := primary.Replica(t, servers.RedisOptions{Settings: map[string]string{"maxmemory-policy": "allkeys-lru"}})
		says(t, replica, "maxmemory-policy\nallkeys-lru", "CONFIG", "GET", "maxmemory-policy")
		says(t, replica, "1", "GET", "before")
		says(t, primary, "OK", "SET", "after", "2")
		must(t, replica.CaughtUp(t.Context(), primary))
		says(t, replica, "2", "GET", "after")
		refuses(t, replica, "READONLY", "SET", "a", "b")

		must(t, replica.Promote())
		says(t, primary, "OK", "SET", "lost", "3")
		says(t, replica, "OK", "SET", "new", "4")
		says(t, replica, "2", "EXISTS", "before", "new", "lost")

		must(t, primary.Follow(replica))
		says(t, primary, "2", "EXISTS", "before", "new", "lost")
		refuses(t, primary, "READONLY", "SET", "a", "b")
	}
}

// TestRedisRolesOutliveRestarts, those that a server was given too.
func TestRedisRolesOutliveRestarts(t *testing.T) {
	primary := servers.StartRedis(t, servers.RedisOptions{})
	replica := primary.Replica(t, servers.RedisOptions{})
	restarts := func(server *servers.Redis, want string) {
		t.Helper()
		must(t, server.Kill())
		must(t, server.Start())
		said, err := server.Command("ROLE")
		must(t, err)
		if !strings.HasPrefix(said, want) {
			t.Errorf("after a restart it is %q instead of %q", said, want)
		}
	}
	restarts(replica, fmt.Sprint("slave\n127.0.0.1\n", primary.Port()))
	must(t, replica.CaughtUp(t.Context(), primary))
	must(t, replica.Promote())
	must(t, primary.Follow(replica))
	restarts(primary, fmt.Sprint("slave\n127.0.0.1\n", replica.Port()))
	must(t, primary.CaughtUp(t.Context(), replica))
	restarts(replica, "master")
}
