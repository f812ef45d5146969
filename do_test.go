package tenure_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/tenurelock/tenure"
)

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		l, other := locker(t, inner, tenure.Options{}), locker(t, inner.Session(), tenure.Options{})
		free := func(after string) {
			t.Helper()
			lease, err := other.TryAcquire(t.Context(), "x")
			if err != nil {
				t.Fatalf("after %s: %v", after, err)
			}
			release(t, lease)
		}
		broken := errors.New("the work failed")
		if err := l.Do(t.Context(), "x", func(_ context.Context, lease *tenure.Lease) error {
			if fence := lease.Fence(); fence.Name != "x" || fence.Token != lease.Token() || fence.Token <= 0 {
				t.Errorf("the fence is %v", fence)
			}
			if err := other.TryDo(t.Context(), "x", func(context.Context, *tenure.Lease) error { return nil }); !errors.Is(err, tenure.ErrHeld) {
				t.Errorf("beside the work: %v", err)
			}
			return broken
		}); !errors.Is(err, broken) {
			t.Errorf("do: %v", err)
		}
		free("an error")

		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = l.Do(t.Context(), "x", func(context.Context, *tenure.Lease) error { panic("wrong") })
		}()
		free("a panic")

		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = l.Do(t.Context(), "x", func(context.Context, *tenure.Lease) error { runtime.Goexit(); return nil })
		}()
		<-done
		free("Goexit")

		if err := l.Do(t.Context(), "x", func(ctx context.Context, lease *tenure.Lease) error {
			return lease.Release(ctx)
		}); err != nil {
			t.Errorf("released by the work itself: %v", err)
		}

		var late context.Context
		if err := l.Do(t.Context(), "x", func(ctx context.Context, _ *tenure.Lease) error { late = ctx; return nil }); err != nil {
			t.Error(err)
		}
		if !errors.Is(context.Cause(late), tenure.ErrReleased) {
			t.Errorf("after Do its context's cause is %v", context.Cause(late))
		}

		// The work does not notice that it lost the lease, and returns nil. Do must not.
		err := l.Do(t.Context(), "x", func(ctx context.Context, _ *tenure.Lease) error {
			inner.Lose("x")
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), tenure.ErrLost) {
				t.Errorf("the cause is %v", context.Cause(ctx))
			}
			return nil
		})
		if !errors.Is(err, tenure.ErrLost) {
			t.Errorf("do after a loss: %v", err)
		}
	})
}

// TestContextsEndBeforeTheNameIsPassedOn, to a caller of this process as to another.
func TestContextsEndBeforeTheNameIsPassedOn(t *testing.T) {
	inner := memory(t)
	l, other := locker(t, inner, tenure.Options{}), locker(t, inner.Session(), tenure.Options{})
	for range 300 {
		for _, next := range []*tenure.Locker{l, other} {
			lease := acquire(t, l, "x")
			work := lease.Context(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				successor, err := next.Acquire(context.Background(), "x")
				if err != nil {
					t.Error(err)
					return
				}
				if work.Err() == nil {
					t.Error("the successor has the name, and the context before it is not over")
				}
				release(t, successor)
			}()
			runtime.Gosched()
			release(t, lease)
			<-done
		}
	}
}

// TestManyContexts of one lease are forgotten as they end, and all end with it.
func TestManyContexts(t *testing.T) {
	lease := acquire(t, locker(t, memory(t), tenure.Options{}), "x")
	var live []context.Context
	for i := range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		work := lease.Context(ctx)
		if i%2 == 0 {
			cancel()
			if work.Err() == nil {
				t.Fatal("a context outlived its parent")
			}
			continue
		}
		defer cancel()
		live = append(live, work)
	}
	release(t, lease)
	for _, work := range live {
		if !errors.Is(context.Cause(work), tenure.ErrReleased) {
			t.Fatalf("after the release: %v", context.Cause(work))
		}
	}
}
