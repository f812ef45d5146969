// Package servers starts real servers for tests, each in a temporary folder and on a free port of 127.0.0.1, breaks them as
// machines and networks do, and stops what it has started, by process id. When the test process dies, so do they (on Linux).
//
//	func TestSomething(t *testing.T) {
//		server := servers.StartPostgres(t, servers.PostgresOptions{})
//		url := server.Database(t)
//		…
//		if err := server.Kill(); err != nil { … } // a crash
//		if err := server.Start(); err != nil { … }
//	}
//
// There are PostgreSQL with standbys, PgBouncer in front of it, and Redis, alone, with replicas, watched by sentinels, and as
// a cluster:
//
//	primary := servers.StartRedis(t, servers.RedisOptions{})
//	replica := primary.Replica(t, servers.RedisOptions{})
//	sentinels := servers.StartSentinels(t, primary, 3, servers.SentinelOptions{})
//	cluster := servers.StartRedisCluster(t, 3, 1)
//
// A package whose tests share a server starts it with NewPostgres or OpenRedis in TestMain, and closes it before it looks for
// goroutines that were left behind: a running server has one.
//
// No test skips because a server is missing: it fails and names scripts/install. The parts that differ by server are in
// files named after it; server.go is what they share.
package servers
