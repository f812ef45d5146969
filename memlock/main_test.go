package memlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// TestMain fails the run if a goroutine is left over: a memory has none of its own.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			os.Exit(code)
		}
		runtime.Gosched()
		runtime.GC() // gives goroutines that are about to end their turn
	}
	stacks := make([]byte, 1<<20)
	fmt.Fprintf(os.Stderr, "goroutines are left over:\n%s\n", stacks[:runtime.Stack(stacks, true)])
	os.Exit(1)
}

const ttl = 10 * time.Second

// acqs numbers all acquisitions of all tests.
var acqs atomic.Uint64

// watch records what a driver.Watcher hears.
type watch struct {
	mu     sync.Mutex
	queued []driver.Holder
	lost   []error
}

func (w *watch) Asked(string) {}

func (w *watch) Queued(holder *driver.Holder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if holder == nil {
		holder = &driver.Holder{}
	}
	w.queued = append(w.queued, *holder)
}

func (w *watch) Lost(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = append(w.lost, cause)
}

func (w *watch) losses() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

func (w *watch) queues() []driver.Holder {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queued
}

// ask is a request in the making.
type ask struct {
	driver.Request
	watch *watch
}

func want(name string, change ...func(*driver.Request)) *ask {
	w := &watch{}
	a := &ask{watch: w}
	a.Request = driver.Request{
		Ref:   driver.Ref{Name: name, Key: name, Acq: acqs.Add(1)},
		Terms: driver.Terms{TTL: ttl},
		Watch: w,
	}
	for _, f := range change {
		f(&a.Request)
	}
	return a
}

func shared(r *driver.Request)  { r.Mode = driver.Shared }
func waiting(r *driver.Request) { r.Wait = true }

func oncePer(d time.Duration) func(*driver.Request) {
	return func(r *driver.Request) { r.OncePer = d }
}

func gap(d time.Duration) func(*driver.Request) {
	return func(r *driver.Request) { r.Gap = d }
}

func lasting(d time.Duration) func(*driver.Request) {
	return func(r *driver.Request) { r.Terms.TTL = d }
}

func slots(names ...string) func(*driver.Request) {
	return func(r *driver.Request) {
		for _, name := range names {
			r.Slots = append(r.Slots, driver.Slot{Name: name, Key: name})
		}
	}
}

// granted must be granted at once.
func granted(t *testing.T, s *Store, a *ask) driver.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), &a.Request)
	if err != nil {
		t.Fatalf("%q was not granted: %v", a.Name, err)
	}
	return g
}

// held must be refused since somebody has it.
func held(t *testing.T, s *Store, a *ask) *driver.HeldError {
	t.Helper()
	g, err := s.Acquire(t.Context(), &a.Request)
	var by *driver.HeldError
	if !errors.As(err, &by) {
		t.Fatalf("%q gave %+v, %v; it is held", a.Name, g, err)
	}
	return by
}

func released(t *testing.T, s *Store, a *ask) {
	t.Helper()
	if err := s.Release(t.Context(), a.Ref); err != nil {
		t.Fatalf("releasing %q: %v", a.Name, err)
	}
}

// notOurs must have lost the name, whether it asks by renewing or by releasing.
func notOurs(t *testing.T, s *Store, a *ask) {
	t.Helper()
	if _, err := renewed(s, a); !errors.Is(err, driver.ErrNotOurs) {
		t.Fatalf("renewing %q, which is gone: %v", a.Name, err)
	}
	if err := s.Release(t.Context(), a.Ref); !errors.Is(err, driver.ErrNotOurs) {
		t.Fatalf("releasing %q, which is gone: %v", a.Name, err)
	}
}

func renewed(s *Store, a *ask) (driver.Proof, error) {
	batch := []driver.Renewal{{Ref: a.Ref, Terms: a.Terms}}
	s.Renew(context.Background(), batch)
	return batch[0].Proof, batch[0].Err
}

func abandoned(t *testing.T, s *Store, a *ask) {
	t.Helper()
	batch := []driver.Removal{{Ref: a.Ref, Slots: a.Slots}}
	s.Abandon(t.Context(), batch)
	if batch[0].Err != nil {
		t.Fatalf("abandoning %q: %v", a.Name, batch[0].Err)
	}
}

// waiter is an Acquire under way.
type waiter struct {
	*ask
	grant driver.Grant
	err   error
	ended chan struct{}
}

// queue starts an Acquire that must come to wait. It needs a synctest bubble.
func queue(ctx context.Context, t *testing.T, s *Store, a *ask) *waiter {
	t.Helper()
	a.Wait = true
	w := &waiter{ask: a, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		w.grant, w.err = s.Acquire(ctx, &a.Request)
	}()
	synctest.Wait()
	if w.over() {
		t.Fatalf("%q was to wait, and got %+v, %v", a.Name, w.grant, w.err)
	}
	return w
}

func (w *waiter) over() bool {
	synctest.Wait()
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// got must have been granted by now.
func (w *waiter) got(t *testing.T) driver.Grant {
	t.Helper()
	if !w.over() || w.err != nil {
		t.Fatalf("the waiter for %q has no grant: %v", w.Name, w.err)
	}
	return w.grant
}

// waits must still wait.
func (w *waiter) waits(t *testing.T) {
	t.Helper()
	if w.over() {
		t.Fatalf("the waiter for %q does not wait any more: %+v, %v", w.Name, w.grant, w.err)
	}
}

// kind is the kind of a fault; it must be one.
func kind(t *testing.T, err error) driver.Kind {
	t.Helper()
	var fault *driver.Fault
	if !errors.As(err, &fault) {
		t.Fatalf("%v is no fault", err)
	}
	return fault.Kind
}
