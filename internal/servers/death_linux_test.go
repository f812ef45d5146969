package servers_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestServersDieWithUs kills a test process that has servers.
func TestServersDieWithUs(t *testing.T) {
	if os.Getenv("TENURE_DIES") != "" {
		server := servers.StartPostgres(t, servers.PostgresOptions{})
		bouncer := servers.StartPgBouncer(t, server, servers.PgBouncerOptions{})
		redis := servers.StartRedis(t, servers.RedisOptions{})
		fmt.Println(server.PID(), bouncer.PID(), redis.PID(), server.Dir(), bouncer.Dir(), redis.Dir())
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	dies := exec.Command(os.Args[0], "-test.run=^TestServersDieWithUs$")
	dies.Env = append(os.Environ(), "TENURE_DIES=1")
	dies.Stderr = os.Stderr
	input, err := dies.StdinPipe()
	must(t, err)
	defer input.Close()
	output, err := dies.StdoutPipe()
	must(t, err)
	must(t, dies.Start())
	var pids [3]int
	var folders [3]string
	_, err = fmt.Fscan(output, &pids[0], &pids[1], &pids[2], &folders[0], &folders[1], &folders[2])
	killed := dies.Process.Kill()
	_ = dies.Wait()
	must(t, err)
	must(t, killed)
	for _, folder := range folders {
		defer os.RemoveAll(folder)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, servers.UntilGone(ctx, pids[:]))
}
