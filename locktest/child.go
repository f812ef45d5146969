package locktest

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

const (
	childAddress = "TENURE_LOCKTEST_ADDRESS" // set in a child, which opens the store there
	childTTL     = "TENURE_LOCKTEST_TTL"
)

// Main is for TestMain. In the test's own process it runs the tests and gives the exit code; more rules may then wait
// beside each other than there are cores. In a child, which the rules start, it opens the store, holds and waits as it is
// told, and ends with its parent.
//
//	func TestMain(m *testing.M) { os.Exit(locktest.Main(m, reopen)) }
func Main(m *testing.M, reopen func(address string) (driver.Store, error)) int {
	if address, isChild := os.LookupEnv(childAddress); isChild {
		if err := serveChild(address, reopen); err != nil {
			fmt.Println("error", err)
			return 1
		}
		return 0
	}
	_ = flag.Set("test.parallel", "12") // the command line comes after it
	return m.Run()
}

func serveChild(address string, reopen func(string) (driver.Store, error)) error {
	store, err := reopen(address)
	if err != nil {
		return err
	}
	ttl, err := time.ParseDuration(os.Getenv(childTTL))
	if err != nil {
		return err
	}
	c := &childProcess{}
	c.locker, err = tenure.New(store, tenure.Options{
		TTL:      ttl,
		Logger:   slog.New(slog.DiscardHandler),
		Observer: &tenure.Observer{Wait: func(string, *tenure.Holder) { c.say("waits") }},
	})
	if err != nil {
		return err
	}
	return c.obey(os.Stdin)
}

// childProcess does what its parent says, a line each.
type childProcess struct {
	locker *tenure.Locker
	mu     sync.Mutex // of the output, and of lease
	lease  *tenure.Lease
}

func (c *childProcess) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Printf(format+"\n", args...)
}

func (c *childProcess) obey(in io.Reader) error {
	ctx := context.Background()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		verb, name, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "acquire":
			go c.took(c.locker.Acquire(ctx, name))
		case "try":
			c.took(c.locker.TryAcquire(ctx, name))
		case "check":
			c.said(c.held().Err())
		case "release":
			c.said(c.held().Release(ctx))
		default:
			return fmt.Errorf("unknown order %q", verb)
		}
	}
	return nil // the parent is gone, or has done with us
}

func (c *childProcess) held() *tenure.Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease
}

func (c *childProcess) took(lease *tenure.Lease, err error) {
	switch {
	case errors.Is(err, tenure.ErrHeld):
		c.say("refused")
	case err != nil:
		c.say("error %v", err)
	default:
		c.mu.Lock()
		c.lease = lease
		c.mu.Unlock()
		c.say("held %d", lease.Token())
	}
}

func (c *childProcess) said(err error) {
	switch {
	case err == nil:
		c.say("ok")
	case errors.Is(err, tenure.ErrLost):
		c.say("lost")
	default:
		c.say("error %v", err)
	}
}
