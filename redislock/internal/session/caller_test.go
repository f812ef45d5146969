package session

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// prompt is how late an answer may come that is promised at once, on a machine that has much else to do.
const prompt = 10 * time.Second

// terms are those of most tests.
var terms = driver.Terms{TTL: 30 * time.Second, Drift: 0.16, Margin: 50 * time.Millisecond}

var acqs atomic.Uint64

// caller is one acquisition, and hears what becomes of it.
type caller struct {
	t      testing.TB
	s      *Store
	req    driver.Request
	grant  driver.Grant
	err    error
	at     driver.Instant // when it returned
	done   chan struct{}
	queued chan struct{}
	lost   chan struct{}
}

func (c *caller) Queued(*driver.Holder) { close(c.queued) }
func (c *caller) Lost(error)            { close(c.lost) }
func (c *caller) Asked(string)          {}

// start opens a session with the shared server, for one test.
func start(t testing.TB, set ...func(*Options)) *Store {
	t.Helper()
	return startAt(t, server.Address(), set...)
}

func startAt(t testing.TB, address string, set ...func(*Options)) *Store {
	t.Helper()
	s, err := open(t.Context(), address, set...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func grace(d time.Duration) func(*Options) { return func(o *Options) { o.Grace = d } }

func (s *Store) caller(t testing.TB, name string, set ...func(*driver.Request)) *caller {
	c := &caller{t: t, s: s, done: make(chan struct{}), queued: make(chan struct{}), lost: make(chan struct{})}
	c.req = driver.Request{Ref: driver.Ref{Name: name, Key: name, Acq: acqs.Add(1)}, Terms: terms, Watch: c}
	for _, change := range set {
		change(&c.req)
	}
	return c
}

func waits(r *driver.Request) { r.Wait = true }

// take is granted a name at once.
func (s *Store) take(t testing.TB, name string, set ...func(*driver.Request)) *caller {
	t.Helper()
	c := s.caller(t, name, set...)
	c.acquire(t.Context())
	if c.err != nil {
		t.Fatalf("acquire %q: %v", name, c.err)
	}
	return c
}

// wait waits for a name, and returns when the server has said that it does.
func (s *Store) waitFor(t testing.TB, name string, set ...func(*driver.Request)) *caller {
	t.Helper()
	c := s.caller(t, name, append(set, waits)...)
	go c.acquire(t.Context())
	select {
	case <-c.queued:
	case <-c.done:
		t.Fatalf("%q did not wait: %+v, %v", name, c.grant, c.err)
	}
	return c
}

func (c *caller) acquire(ctx context.Context) {
	c.grant, c.err = c.s.Acquire(ctx, &c.req)
	c.at = driver.Now()
	close(c.done)
}

// granted waits for its grant.
func (c *caller) granted(within time.Duration) *caller {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(within):
		c.t.Fatalf("%q was not granted within %v", c.req.Name, within)
	}
	if c.err != nil {
		c.t.Fatalf("%q: %v", c.req.Name, c.err)
	}
	return c
}

func (c *caller) release() error { return c.s.Release(context.Background(), c.req.Ref) }

func (c *caller) releases() {
	c.t.Helper()
	if err := c.release(); err != nil {
		c.t.Errorf("release %q: %v", c.req.Name, err)
	}
}

func (c *caller) renew() (driver.Proof, error) {
	batch := []driver.Renewal{{Ref: c.req.Ref, Terms: c.req.Terms}}
	c.s.Renew(context.Background(), batch)
	return batch[0].Proof, batch[0].Err
}

// refused must not be granted a name.
func (s *Store) refused(t testing.TB, name string, set ...func(*driver.Request)) *driver.HeldError {
	t.Helper()
	c := s.caller(t, name, set...)
	c.acquire(t.Context())
	var held *driver.HeldError
	if !errors.As(c.err, &held) {
		t.Fatalf("acquire %q: %+v, %v", name, c.grant, c.err)
	}
	return held
}

// redis runs a command on the shared server, as another program would.
func redis(t testing.TB, args ...string) string {
	t.Helper()
	answer, err := server.Command(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return answer
}

// until waits for something that is to come.
func until(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}
