package rows

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// watch is a driver.Watcher that notes what it hears.
type watch struct {
	once   sync.Once
	waits  chan struct{}
	behind *driver.Holder
	lost   chan error
}

func newWatch() *watch { return &watch{waits: make(chan struct{}), lost: make(chan error, 1)} }

func (w *watch) Asked(string) {}

func (w *watch) Queued(h *driver.Holder) {
	w.once.Do(func() {
		w.behind = h
		close(w.waits)
	})
}

func (w *watch) Lost(cause error) { w.lost <- cause }

// claiming is an acquisition of a test.
type claiming struct {
	t     testing.TB
	s     *Store
	req   driver.Request
	watch *watch
	grant driver.Grant
	err   error
	done  chan struct{}
}

// numbers are the acquisition numbers of all tests.
var numbers struct {
	sync.Mutex
	last uint64
}

func (s *Store) claim(t testing.TB, name string, changes ...func(*driver.Request)) *claiming {
	numbers.Lock()
	defer numbers.Unlock()
	numbers.last++
	self := driver.Self()
	c := &claiming{t: t, s: s, watch: newWatch(), done: make(chan struct{})}
	c.req = driver.Request{
		Ref:    driver.Ref{Name: name, Key: name, Acq: numbers.last},
		Terms:  driver.Terms{TTL: time.Minute},
		Holder: &self,
		Watch:  c.watch,
	}
	for _, change := range changes {
		change(&c.req)
	}
	return c
}

func lasting(d time.Duration) func(*driver.Request) {
	return func(r *driver.Request) { r.Terms.TTL = d }
}

func waiting(r *driver.Request) { r.Wait = true }

func gap(d time.Duration) func(*driver.Request) { return func(r *driver.Request) { r.Gap = d } }

// start asks in the background.
func (c *claiming) start(ctx context.Context) *claiming {
	go func() {
		defer close(c.done)
		c.grant, c.err = c.s.Acquire(ctx, &c.req)
	}()
	return c
}

// waits asks in the background and returns when the database has said that it waits.
func (c *claiming) waits(ctx context.Context) *claiming {
	c.t.Helper()
	c.req.Wait = true
	c.start(ctx)
	select {
	case <-c.watch.waits:
	case <-c.done:
		c.t.Fatalf("a waiter for %q returned at once: %v", c.req.Name, c.err)
	case <-time.After(prompt):
		c.t.Fatalf("a waiter for %q did not hear that it waits", c.req.Name)
	}
	return c
}

// ends must return, one way or another.
func (c *claiming) ends(within time.Duration) *claiming {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(within):
		c.t.Fatalf("an acquisition of %q did not return within %v", c.req.Name, within)
	}
	return c
}

// got must be granted.
func (c *claiming) got(within time.Duration) *claiming {
	c.t.Helper()
	if c.ends(within); c.err != nil {
		c.t.Fatalf("acquire %q: %v", c.req.Name, c.err)
	}
	return c
}

// take must be granted at once.
func (s *Store) take(t testing.TB, name string, changes ...func(*driver.Request)) *claiming {
	t.Helper()
	return s.claim(t, name, changes...).start(t.Context()).got(prompt)
}

// refused must not be granted.
func (s *Store) refused(t testing.TB, name string, changes ...func(*driver.Request)) *driver.HeldError {
	t.Helper()
	c := s.claim(t, name, changes...).start(t.Context()).ends(prompt)
	var held *driver.HeldError
	if !errors.As(c.err, &held) {
		t.Fatalf("an acquisition of %q was not refused: number %d, %v", name, c.grant.Number, c.err)
	}
	return held
}

// takeSoon must be granted before long.
func (s *Store) takeSoon(t testing.TB, within time.Duration, name string) *claiming {
	t.Helper()
	var c *claiming
	if !until(within, func() bool {
		c = s.claim(t, name).start(t.Context()).ends(prompt)
		return c.err == nil
	}) {
		t.Fatalf("%q was not free within %v: %v", name, within, c.err)
	}
	return c
}

func (c *claiming) release() error { return c.s.Release(c.t.Context(), c.req.Ref) }

func (c *claiming) releases() {
	c.t.Helper()
	if err := c.release(); err != nil {
		c.t.Fatalf("release %q: %v", c.req.Name, err)
	}
}

func (c *claiming) abandons() {
	c.t.Helper()
	batch := []driver.Removal{{Ref: c.req.Ref, Slots: c.req.Slots}}
	if !until(prompt, func() bool { c.s.Abandon(c.t.Context(), batch); return batch[0].Err == nil }) {
		c.t.Fatalf("abandon %q: %v", c.req.Name, batch[0].Err)
	}
}

func (c *claiming) renew(ttl time.Duration) (driver.Proof, error) {
	batch := []driver.Renewal{{Ref: c.req.Ref, Terms: driver.Terms{TTL: ttl}}}
	c.s.Renew(c.t.Context(), batch)
	return batch[0].Proof, batch[0].Err
}

// renewsSoon must prove what is ours, perhaps after faults that pass.
func (c *claiming) renewsSoon(within time.Duration) {
	c.t.Helper()
	var err error
	if !until(within, func() bool {
		_, err = c.renew(time.Minute)
		if errors.Is(err, driver.ErrNotOurs) {
			c.t.Fatalf("a lease of %q was lost", c.req.Name)
		}
		return err == nil
	}) {
		c.t.Fatalf("renew %q: %v", c.req.Name, err)
	}
	select {
	case cause := <-c.watch.lost:
		c.t.Fatalf("the holder of %q was told that it lost: %v", c.req.Name, cause)
	default:
	}
}

// until looks again and again, and says whether it came true in time.
func until(within time.Duration, look func() bool) bool {
	for end := time.Now().Add(within); !look(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func kindIs(err error, kind driver.Kind) bool {
	var fault *driver.Fault
	return errors.As(err, &fault) && fault.Kind == kind
}
