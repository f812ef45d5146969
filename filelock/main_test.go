package filelock

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// TestMain runs the tests, or plays the other process in one of them, and looks for descriptors and goroutines that the
// package left behind.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child(os.Args[1:]))
	}
	if r, w, err := os.Pipe(); err == nil { // so that the runtime's own poller is open before the count
		_, _ = r.Close(), w.Close()
	}
	files, routines := openFiles(), runtime.NumGoroutine()
	code := m.Run()
	if fuzzing := flag.Lookup("test.fuzz"); fuzzing != nil && fuzzing.Value.String() != "" {
		os.Exit(code) // the fuzzer leaves things behind itself
	}
	if !within(5*time.Second, func() bool { return openFiles() <= files && runtime.NumGoroutine() <= routines }) {
		fmt.Fprintf(os.Stderr, "left behind: descriptors %d → %d, goroutines %d → %d\n",
			files, openFiles(), routines, runtime.NumGoroutine())
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		code = 1
	}
	os.Exit(code)
}

const childEnv = "TENURE_FILELOCK_CHILD"

// openFiles counts this process's descriptors, where the system lists them.
func openFiles() int {
	entries, _ := os.ReadDir("/dev/fd")
	return len(entries)
}

// within waits until something is so, and says whether it came to be.
func within(limit time.Duration, so func() bool) bool {
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for end := time.Now().Add(limit); !so(); <-ticks.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

const long = 20 * time.Second // for what must come, on a busy machine too

// eventually fails the test if something does not come to be.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	if !within(long, so) {
		t.Fatalf("never: %s", what)
	}
}

// watch is a driver.Watcher that remembers.
type watch struct {
	queued chan *driver.Holder
	lost   chan error
}

func newWatch() *watch {
	return &watch{queued: make(chan *driver.Holder, 10), lost: make(chan error, 10)}
}

func (w *watch) Queued(h *driver.Holder) { w.queued <- h }
func (w *watch) Asked(string)            {}
func (w *watch) Lost(cause error)        { w.lost <- cause }

var lastAcq atomic.Uint64

// want makes a request for a name.
func want(name string, change ...func(*driver.Request)) *driver.Request {
	self := driver.Self()
	req := &driver.Request{
		Ref:    driver.Ref{Name: name, Acq: lastAcq.Add(1)},
		Terms:  driver.Terms{TTL: time.Minute},
		Holder: &self,
		Watch:  newWatch(),
	}
	for _, c := range change {
		c(req)
	}
	return req
}

func wait(r *driver.Request)    { r.Wait = true }
func sharing(r *driver.Request) { r.Mode = driver.Shared }
func watching(w *watch) func(*driver.Request) {
	return func(r *driver.Request) { r.Watch = w }
}

// session opens a store over dir, which is closed when the test ends.
func session(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
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

// must acquires what is free.
func must(t testing.TB, s *Store, req *driver.Request) driver.Grant {
	t.Helper()
	grant, err := s.Acquire(context.Background(), req)
	if err != nil {
		t.Fatalf("%s: %v", req.Name, err)
	}
	return grant
}

func release(t testing.TB, s *Store, req *driver.Request) {
	t.Helper()
	if err := s.Release(context.Background(), req.Ref); err != nil {
		t.Fatalf("%s: %v", req.Name, err)
	}
}

// held fails the test unless the request is refused because somebody holds the name.
func held(t testing.TB, s *Store, req *driver.Request) driver.Holder {
	t.Helper()
	grant, err := s.Acquire(context.Background(), req)
	var refusal *driver.HeldError
	if !errors.As(err, &refusal) {
		t.Fatalf("%s was not refused as held: %v, %v", req.Name, grant, err)
	}
	return refusal.Holder
}

// faulty fails the test unless the error is a fault of this kind.
func faulty(t testing.TB, err error, kind driver.Kind) {
	t.Helper()
	var fault *driver.Fault
	if !errors.As(err, &fault) || fault.Kind != kind {
		t.Fatalf("not a fault of kind %d: %v", kind, err)
	}
}

func renew(s *Store, req *driver.Request) driver.Renewal {
	batch := []driver.Renewal{{Ref: req.Ref, Terms: req.Terms}}
	s.Renew(context.Background(), batch)
	return batch[0]
}

func abandon(t testing.TB, s *Store, ref driver.Ref) {
	t.Helper()
	batch := []driver.Removal{{Ref: ref}}
	if s.Abandon(context.Background(), batch); batch[0].Err != nil {
		t.Fatal(batch[0].Err)
	}
}

// later is an Acquire that waits.
type later struct {
	grant driver.Grant
	err   error
	done  chan struct{}
}

// async acquires in the background, and returns once the request waits.
func async(t *testing.T, ctx context.Context, s *Store, req *driver.Request) *later {
	t.Helper()
	l := start(ctx, s, req)
	select {
	case <-req.Watch.(*watch).queued:
	case <-l.done:
		t.Fatalf("%s did not wait: %v, %v", req.Name, l.grant, l.err)
	}
	return l
}

func start(ctx context.Context, s *Store, req *driver.Request) *later {
	l := &later{done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.grant, l.err = s.Acquire(ctx, req)
	}()
	return l
}

// granted waits for the grant.
func (l *later) granted(t *testing.T) driver.Grant {
	t.Helper()
	l.ended(t)
	if l.err != nil {
		t.Fatal(l.err)
	}
	return l.grant
}

func (l *later) ended(t *testing.T) {
	t.Helper()
	select {
	case <-l.done:
	case <-time.After(long):
		t.Fatal("an Acquire never came back")
	}
}

// together runs n functions at once.
func together(n int, run func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Add(1)
		go func() {
			defer group.Done()
			run(i)
		}()
	}
	group.Wait()
}
