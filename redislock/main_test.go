package redislock_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/locktest"
	"github.com/tenurelock/tenure/redislock"
)

// TestMain lets the rules about killed and stopped processes run this test binary again, and leaves no goroutine.
func TestMain(m *testing.M) {
	code := locktest.Main(m, reopen)
	if err := nothingLeft(10 * time.Second); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// nothingLeft waits for goroutines to end: the client library closes connections to nodes that are gone five seconds later.
func nothingLeft(within time.Duration) error {
	for end := time.Now().Add(within); ; {
		if err := goleak.Find(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// reopen opens a session as another process does.
func reopen(url string) (driver.Store, error) {
	s, err := redislock.Open(context.Background(), url, redislock.Options{})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// open opens a session with the store of a URL, until the test ends.
func open(t testing.TB, url string, opts redislock.Options) *redislock.Store {
	t.Helper()
	s, err := redislock.Open(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// lockerOf makes a locker that ends with the test, and tells nobody of a store that is away for a while.
func lockerOf(t testing.TB, store driver.Store, observer *tenure.Observer) *tenure.Locker {
	t.Helper()
	l, err := tenure.New(store, tenure.Options{Observer: observer, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}
