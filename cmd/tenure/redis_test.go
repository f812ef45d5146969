//go:build linux || darwin

package main

import (
	"net"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenurelock/tenure/internal/servers"
)

// The scripts in testdata/redis say what a user of a Redis store sees. $TENURE_STORE is a server that they share, with a prefix of
// each script's own, $PREFIX; $PLAIN is the same server for redis-cli; $DOWN is where no server is.
func TestRedisScripts(t *testing.T) {
	server := servers.StartRedis(t, servers.RedisOptions{})
	down, err := net.Listen("tcp", "127.0.0.1:0") // nobody listens on its port, once it is closed
	if err != nil {
		t.Fatal(err)
	}
	if err := down.Close(); err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("scripts", func(t *testing.T) { // in a group, so that the server outlives them, which are parallel
		runScripts(t, "testdata/redis", func(env *testscript.Env) error {
			prefix := env.Getenv("WORK") + ":"
			env.Setenv("PREFIX", prefix)
			env.Setenv("TENURE_STORE", server.URL()+"?tenure_grace=4s&tenure_prefix="+prefix)
			env.Setenv("CLI", "redis-cli -h "+host+" -p "+port)
			env.Setenv("DOWN", "redis://:hunter2@"+down.Addr().String())
			return nil
		})
	})
}
