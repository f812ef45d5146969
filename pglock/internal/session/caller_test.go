package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/netfault"
	"github.com/tenurelock/tenure/pglock/internal/connect"
)

// prompt is how late an answer may come that is promised at once, on a machine that has much else to do.
const prompt = 10 * time.Second

// caller is one acquisition, and hears what becomes of it.
type caller struct {
	t       testing.TB
	s       *Store
	req     driver.Request
	grant   driver.Grant
	err     error
	at      time.Time                   // when it returned
	then    func()                      // called then
	instead func(context.Context) error // what it does, if it does not acquire
	done    chan struct{}               // closed then
	queued  chan struct{}               // closed when it has heard that it waits
	lost    chan struct{}               // closed when it has heard of its loss
	hears   sync.Once
	losses  atomic.Int32
}

// acqs are the acquisition numbers of all tests.
var acqs atomic.Uint64

func (s *Store) caller(t testing.TB, name string, changes ...func(*driver.Request)) *caller {
	t.Helper()
	k, err := s.Key(name)
	if err != nil {
		t.Fatal(err)
	}
	self := driver.Self()
	c := &caller{t: t, s: s, then: func() {}, done: make(chan struct{}), queued: make(chan struct{}), lost: make(chan struct{})}
	c.req = driver.Request{
		Ref: driver.Ref{Name: name, Key: k, Acq: acqs.Add(1)}, Terms: driver.Terms{TTL: s.ttl}, Holder: &self, Watch: c,
	}
	for _, change := range changes {
		change(&c.req)
	}
	return c
}

func shared(r *driver.Request) { r.Mode = driver.Shared }

func (c *caller) Queued(*driver.Holder) { c.hears.Do(func() { close(c.queued) }) }
func (c *caller) Asked(string)          {}

func (c *caller) Lost(error) {
	if c.losses.Add(1) == 1 {
		close(c.lost)
	}
}

// start asks in the background.
func (c *caller) start(ctx context.Context) *caller {
	go func() {
		if c.instead != nil {
			c.err = c.instead(ctx)
		} else {
			c.grant, c.err = c.s.Acquire(ctx, &c.req)
		}
		c.at = time.Now()
		c.then()
		close(c.done)
	}()
	return c
}

// waits asks in the background, and returns when the server has said that it waits.
func (c *caller) waits(ctx context.Context) *caller {
	c.t.Helper()
	c.req.Wait = true
	c.start(ctx)
	select {
	case <-c.queued:
	case <-c.done:
		c.t.Fatalf("a waiter for %q returned at once: %v", c.req.Name, c.err)
	case <-time.After(prompt):
		c.t.Fatalf("a waiter for %q did not hear that it waits", c.req.Name)
	}
	return c
}

// ends must return, one way or another.
func (c *caller) ends(within time.Duration) *caller {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(within):
		c.t.Fatalf("an acquisition of %q did not return within %v", c.req.Name, within)
	}
	return c
}

// got must be granted.
func (c *caller) got(within time.Duration) *caller {
	c.t.Helper()
	if c.ends(within); c.err != nil {
		c.t.Fatalf("acquire %q: %v", c.req.Name, c.err)
	}
	return c
}

// take must be granted at once.
func (s *Store) take(t testing.TB, name string, changes ...func(*driver.Request)) *caller {
	t.Helper()
	return s.caller(t, name, changes...).start(t.Context()).got(prompt)
}

// takeSoon must be granted before long, through passing faults and after those who hold it.
func (s *Store) takeSoon(t testing.TB, within time.Duration, name string, changes ...func(*driver.Request)) *caller {
	t.Helper()
	var c *caller
	until(t, within, "acquire "+name, func() bool {
		c = s.caller(t, name, changes...).start(t.Context()).ends(prompt)
		return c.err == nil
	})
	return c
}

// refused must be held by somebody else.
func (s *Store) refused(t testing.TB, name string, changes ...func(*driver.Request)) {
	t.Helper()
	c := s.caller(t, name, changes...).start(t.Context()).ends(prompt)
	var held *driver.HeldError
	if !errors.As(c.err, &held) {
		t.Fatalf("%q is held, and a try said: %v", name, c.err)
	}
}

func (c *caller) releases() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), prompt)
	defer cancel()
	if err := c.s.Release(ctx, c.req.Ref); err != nil {
		c.t.Fatalf("release %q: %v", c.req.Name, err)
	}
}

// abandons must be answered.
func (c *caller) abandons() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), prompt)
	defer cancel()
	batch := []driver.Removal{{Ref: c.req.Ref}}
	if c.s.Abandon(ctx, batch); batch[0].Err != nil {
		c.t.Fatalf("abandon %q: %v", c.req.Name, batch[0].Err)
	}
}

// renew proves it once.
func (c *caller) renew() error {
	ctx, cancel := context.WithTimeout(context.Background(), prompt)
	defer cancel()
	batch := []driver.Renewal{{Ref: c.req.Ref, Terms: c.req.Terms}}
	c.s.Renew(ctx, batch)
	return batch[0].Err
}

// renews must be proved.
func (c *caller) renews() {
	c.t.Helper()
	if err := c.renew(); err != nil {
		c.t.Fatalf("renew %q: %v", c.req.Name, err)
	}
}

// loses must hear of its loss, once.
func (c *caller) loses(within time.Duration) {
	c.t.Helper()
	select {
	case <-c.lost:
	case <-time.After(within):
		c.t.Fatalf("the holder of %q did not hear of its loss within %v", c.req.Name, within)
	}
}

// keeps must not have heard of a loss.
func (c *caller) keeps() {
	c.t.Helper()
	if c.losses.Load() > 0 {
		c.t.Errorf("%q was lost", c.req.Name)
	}
	c.renews()
}

func kindOf(err error) string {
	var f *driver.Fault
	var held *driver.HeldError
	switch {
	case err == nil:
		return "granted"
	case errors.As(err, &held):
		return "held"
	case errors.As(err, &f):
		return [...]string{driver.Unknown: "unknown", driver.Passing: "passing", driver.Lasting: "lasting"}[f.Kind]
	}
	return "another error"
}

func ttl(d time.Duration) func(*Options) { return func(o *Options) { o.TTL = d } }

// long is a TTL that does not run out while a test runs.
var long = ttl(5 * time.Minute)

// start opens a session that the test closes.
func start(t testing.TB, url string, set ...func(*Options)) *Store {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return startConfig(t, config, set...)
}

func startConfig(t testing.TB, config *pgx.ConnConfig, set ...func(*Options)) *Store {
	t.Helper()
	opts := Options{TTL: 10 * time.Second, Waits: 8, Waited: 32, MaxLocks: 5000, Turn: time.Minute}
	for _, s := range set {
		s(&opts)
	}
	s, err := New(t.Context(), connect.New(config, nil), opts)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, s)
	return s
}

func closeAfter(t testing.TB, s *Store) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

// through gives the URL of a database behind a proxy.
func through(t testing.TB, url string) (string, *netfault.Proxy) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	there := fmt.Sprintf("%s:%d", config.Host, config.Port)
	proxy := netfault.New(t, there)
	return strings.Replace(url, there, proxy.Address(), 1), proxy
}

// locker is the root package over a session.
func locker(t testing.TB, s *Store) *tenure.Locker {
	t.Helper()
	l, err := tenure.New(s, tenure.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.Close(ctx) // what was lost on purpose is no news
	})
	return l
}

// until looks again and again until it has come true.
func until(t testing.TB, within time.Duration, what string, look func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !look(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}
