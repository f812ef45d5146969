package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/locktest"
)

// server is what the tests share that break nothing; they take names of their own.
var server *servers.Redis

// TestMain lets the rules about killed and stopped processes run this test binary again, and leaves no goroutine.
func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if what := os.Getenv(holdVariable); what != "" {
		return holdOn(what)
	}
	if _, isChild := os.LookupEnv("TENURE_LOCKTEST_ADDRESS"); isChild {
		return locktest.Main(m, reopen)
	}
	s, err := servers.OpenRedis(servers.RedisOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	server = s
	code := locktest.Main(m, reopen)
	if err := errors.Join(s.Close(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// reopen opens a session, as another process would; with the grace before a space in the address, if there is one.
func reopen(address string) (driver.Store, error) {
	var grace time.Duration
	if text, host, found := strings.Cut(address, " "); found {
		address = host
		var err error
		if grace, err = time.ParseDuration(text); err != nil {
			return nil, err
		}
	}
	return open(context.Background(), address, func(o *Options) { o.Grace = grace })
}

// open opens a session with options for tests.
func open(ctx context.Context, address string, set ...func(*Options)) (*Store, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{address}, DisableCache: true, DisableRetry: true, PipelineMultiplex: -1, ForceSingleClient: true,
	})
	if err != nil {
		return nil, err
	}
	opts := Options{TTL: 30 * time.Second, Address: "redis " + address, Own: true}
	for _, s := range set {
		s(&opts)
	}
	s, err := New(ctx, client, opts)
	if err != nil {
		client.Close()
		return nil, err
	}
	return s, nil
}
