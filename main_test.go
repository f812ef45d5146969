package tenure_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/leak"
	"github.com/tenurelock/tenure/memlock"
)

func TestMain(m *testing.M) {
	slog.SetDefault(quiet()) // panics of observers are reported there
	leak.Main(m)
}

// TestRootRequiresNothing keeps the promise that whoever wants one store downloads no other's client.
func TestRootRequiresNothing(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(mod), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "require") || strings.HasPrefix(strings.TrimSpace(line), "replace") {
			t.Errorf("go.mod of the root module has gained %q", line)
		}
	}
}

const ttl = 30 * time.Second

// trusted is how long a proof is trusted at the defaults and a TTL of 30 s.
const trusted = ttl*84/100 - 50*time.Millisecond

// memory opens a session on a fresh memory, closed at the end of the test.
func memory(t testing.TB) *memlock.Store {
	t.Helper()
	store := memlock.New(memlock.Options{TTL: ttl})
	t.Cleanup(func() {
		if err := store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return store
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// locker makes a Locker, closed at the end of the test, by when all its leases must be over.
func locker(t testing.TB, store driver.Store, opts tenure.Options) *tenure.Locker {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = quiet()
	}
	l, err := tenure.New(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func acquire(t testing.TB, l *tenure.Locker, name string) *tenure.Lease {
	t.Helper()
	lease, err := l.Acquire(t.Context(), name)
	if err != nil {
		t.Fatalf("acquire %q: %v", name, err)
	}
	return lease
}

func release(t testing.TB, lease *tenure.Lease) {
	t.Helper()
	if err := lease.Release(context.Background()); err != nil {
		t.Fatalf("release %q: %v", lease.Name(), err)
	}
}

// faulty is a real store whose calls can be stopped, failed, delayed or watched on their way.
type faulty struct {
	driver.Store
	driver.Local
	mu      sync.Mutex
	acquire func(ctx context.Context, req *driver.Request, next func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error)
	renew   func(ctx context.Context, batch []driver.Renewal, next func(context.Context, []driver.Renewal))
	release func(ctx context.Context, ref driver.Ref, next func(context.Context, driver.Ref) error) error
	abandon func(ctx context.Context, batch []driver.Removal, next func(context.Context, []driver.Removal))
}

func (f *faulty) Attached() *driver.Local { return &f.Local }

func (f *faulty) set(change func(*faulty)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *faulty) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	f.mu.Lock()
	hook := f.acquire
	f.mu.Unlock()
	if hook == nil {
		return f.Store.Acquire(ctx, req)
	}
	return hook(ctx, req, f.Store.Acquire)
}

func (f *faulty) Renew(ctx context.Context, batch []driver.Renewal) {
	f.mu.Lock()
	hook := f.renew
	f.mu.Unlock()
	if hook == nil {
		f.Store.Renew(ctx, batch)
		return
	}
	hook(ctx, batch, f.Store.Renew)
}

func (f *faulty) Release(ctx context.Context, ref driver.Ref) error {
	f.mu.Lock()
	hook := f.release
	f.mu.Unlock()
	if hook == nil {
		return f.Store.Release(ctx, ref)
	}
	return hook(ctx, ref, f.Store.Release)
}

func (f *faulty) Abandon(ctx context.Context, batch []driver.Removal) {
	f.mu.Lock()
	hook := f.abandon
	f.mu.Unlock()
	if hook == nil {
		f.Store.Abandon(ctx, batch)
		return
	}
	hook(ctx, batch, f.Store.Abandon)
}

// What the hooks of faulty are given to go on with: the real store's own methods.
type (
	acquireFunc = func(context.Context, *driver.Request) (driver.Grant, error)
	renewFunc   = func(context.Context, []driver.Renewal)
	releaseFunc = func(context.Context, driver.Ref) error
	abandonFunc = func(context.Context, []driver.Removal)
)

// out fails all renewals of a batch, as a store that is out of reach does.
func out(batch []driver.Renewal, err error) {
	for i := range batch {
		batch[i].Err = err
	}
}

// unclean fails all clean-ups of a batch.
func unclean(batch []driver.Removal, err error) {
	for i := range batch {
		batch[i].Err = err
	}
}

// noAnswer is the fault of a request that was sent now, and whose answer is missing.
func noAnswer() error {
	return &driver.Fault{Kind: driver.Unknown, Sent: driver.Now(), Err: errors.New("no answer")}
}

// free says that another session is granted the name at once.
func free(t *testing.T, inner *memlock.Store, name string) {
	t.Helper()
	lease, err := locker(t, inner.Session(), tenure.Options{}).TryAcquire(t.Context(), name)
	if err != nil {
		t.Errorf("%q is not free for others: %v", name, err)
		return
	}
	release(t, lease)
}
