package tenure_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// TestH18DoIsNotNilAfterALoss that its own function was told of, and did not pass on.
func TestH18DoIsNotNilAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		err := locker(t, inner, tenure.Options{}).Do(t.Context(), "x", func(ctx context.Context, lease *tenure.Lease) error {
			inner.LoseQuietly("x")
			if err := lease.Release(ctx); !errors.Is(err, tenure.ErrLost) {
				t.Errorf("release: %v", err)
			}
			return nil
		})
		if !errors.Is(err, tenure.ErrLost) {
			t.Errorf("do: %v", err)
		}
	})
}

// TestDoWaitsForTheReleaseThatIsUnderWay in another goroutine, and gives its error.
func TestDoWaitsForTheReleaseThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		store.release = func(ctx context.Context, ref driver.Ref, next releaseFunc) error {
			time.Sleep(time.Second)
			_ = next(ctx, ref)
			return driver.ErrNotOurs
		}
		begin := time.Now()
		err := locker(t, store, tenure.Options{}).Do(t.Context(), "x", func(ctx context.Context, lease *tenure.Lease) error {
			go func() { _ = lease.Release(context.Background()) }()
			<-ctx.Done()
			return nil
		})
		if took := time.Since(begin); !errors.Is(err, tenure.ErrLost) || took != time.Second {
			t.Errorf("do, after %v: %v", took, err)
		}
	})
}

// TestH54DeadlineLeavesTimeToEnd: after it the name stays with its holder, until that releases.
func TestH54DeadlineLeavesTimeToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		store := &faulty{Store: inner}
		store.renew = func(_ context.Context, batch []driver.Renewal, _ renewFunc) { out(batch, errOutOfReach) }
		l, there := locker(t, store, tenure.Options{}), locker(t, inner.Session(), tenure.Options{})
		ended := make(chan time.Time, 1)
		go func() {
			_ = l.Do(context.Background(), "x", func(ctx context.Context, _ *tenure.Lease) error {
				<-ctx.Done()
				time.Sleep(2 * time.Second) // the last write is on its way
				ended <- time.Now()
				return nil
			})
		}()
		synctest.Wait()
		next := acquire(t, there, "x")
		granted := time.Now()
		select {
		case at := <-ended:
			if granted.Sub(at) > 0 {
				t.Errorf("the successor came %v after the work had ended", granted.Sub(at))
			}
		default:
			t.Error("the successor came before the work had ended")
		}
		release(t, next)
	})
}

// TestH24CloseWaitsForCleanUps: when it returns, the store has nothing of what was asked for as it closed.
func TestH24CloseWaitsForCleanUps(t *testing.T) {
	for what, spoil := range map[string]func() error{
		"a grant that came meanwhile": func() error { return nil },
		"an answer that did not come": noAnswer,
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := memory(t)
				store := &faulty{Store: inner}
				store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (driver.Grant, error) {
					grant, err := next(ctx, req)
					time.Sleep(10 * time.Millisecond) // the answer's way
					if spoiled := spoil(); spoiled != nil {
						return driver.Grant{}, spoiled
					}
					return grant, err
				}
				store.abandon = func(ctx context.Context, batch []driver.Removal, next abandonFunc) {
					time.Sleep(10 * time.Millisecond)
					next(ctx, batch)
				}
				l := locker(t, store, tenure.Options{})
				go func() {
					if _, err := l.Acquire(context.Background(), "x"); !errors.Is(err, tenure.ErrClosed) {
						t.Errorf("acquire: %v", err)
					}
				}()
				synctest.Wait()
				if err := l.Close(t.Context()); err != nil {
					t.Errorf("close: %v", err)
				}
				if report, err := inner.Inspect(t.Context(), "x"); err != nil || len(report.Holders) > 0 {
					t.Errorf("closed, and the store still has %v, %v", report.Holders, err)
				}
			})
		})
	}
}

// TestCloseCountsNoReleaseAsLost that is under way.
func TestCloseCountsNoReleaseAsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		store.release = func(ctx context.Context, ref driver.Ref, next releaseFunc) error {
			time.Sleep(3 * time.Second)
			return next(ctx, ref)
		}
		l := locker(t, store, tenure.Options{})
		lease, released := acquire(t, l, "x"), make(chan error, 1)
		go func() { released <- lease.Release(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "lost") {
			t.Errorf("close: %v", err)
		}
		if err := <-released; err != nil {
			t.Errorf("release: %v", err)
		}
	})
}

// TestH4CloseWaitsForRenewals: the driver is not asked for anything after it.
func TestH4CloseWaitsForRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var underWay atomic.Int64
		store := &faulty{Store: memory(t)}
		store.renew = func(ctx context.Context, batch []driver.Renewal, next renewFunc) {
			underWay.Add(1)
			defer underWay.Add(-1)
			time.Sleep(2 * time.Second)
			next(ctx, batch)
		}
		l := locker(t, store, tenure.Options{})
		lease := acquire(t, l, "x")
		time.Sleep(ttl/3 + time.Second)
		if underWay.Load() != 1 {
			t.Fatal("no renewal is under way")
		}
		release(t, lease)
		if err := l.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		if underWay.Load() != 0 {
			t.Error("a renewal is under way after Close")
		}
	})
}

// ofLease is a program's own context, which looks at the lease whenever it is asked for a value.
type ofLease struct {
	context.Context
	lease *tenure.Lease
}

func (c ofLease) Value(key any) any {
	_ = c.lease.Err()
	return c.Context.Value(key)
}

// TestContextsOfTheProgramMayLookAtTheLease while they are ended, however the lease ends.
func TestContextsOfTheProgramMayLookAtTheLease(t *testing.T) {
	inner := memory(t)
	l, err := tenure.New(inner, tenure.Options{Logger: quiet()}) // not closed where that would hang, too
	if err != nil {
		t.Fatal(err)
	}
	for how, end := range map[string]func(*tenure.Lease){
		"released": func(lease *tenure.Lease) { release(t, lease) },
		"lost":     func(*tenure.Lease) { inner.Lose("x") },
	} {
		base, cancel := context.WithCancel(t.Context())
		lease := acquire(t, l, "x")
		work := lease.Context(ofLease{base, lease})
		go end(lease)
		select {
		case <-work.Done():
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: the contexts' own code runs under a lock of the lease's", how)
		}
		cancel()
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
