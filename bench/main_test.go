package bench

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/servers"
)

var turn = flag.Duration("turn", 300*time.Millisecond, "how long a rival works before the next one does")

// The servers that the benchmarks share. Each rival has names of its own there.
var (
	redisServer    *servers.Redis
	postgresServer *servers.Postgres
)

// TestMain does not look for goroutines that were left behind: not all rivals wait for theirs.
func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) (code int) {
	var err error
	defer func() {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}()
	if redisServer, err = servers.OpenRedis(servers.RedisOptions{}); err != nil {
		return 1
	}
	defer func() { err = errors.Join(err, redisServer.Close()) }()
	if postgresServer, err = servers.NewPostgres(servers.PostgresOptions{}); err != nil {
		return 1
	}
	defer func() { err = errors.Join(err, postgresServer.Close()) }()
	return m.Run()
}
