package tenure_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/memlock"
)

// TestAskedEndsTheLease, and the name stays its holder's until that has released.
func TestAskedEndsTheLease(t *testing.T) {
	memory := memlock.New(memlock.Options{})
	var watch driver.Watcher
	store := &faulty{Store: memory}
	store.acquire = func(ctx context.Context, req *driver.Request, next func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
		watch = req.Watch
		return next(ctx, req)
	}
	locker, err := tenure.New(store, tenure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rival, err := tenure.New(memory.Session(), tenure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := locker.Acquire(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	work := lease.Context(t.Context())

	watch.Asked("ann on web-1")

	<-work.Done()
	var lost *tenure.LostError
	cause := context.Cause(work)
	if !errors.As(cause, &lost) || !errors.Is(cause, tenure.ErrAsked) || !errors.Is(cause, tenure.ErrLost) ||
		!strings.Contains(cause.Error(), "ann on web-1") {
		t.Errorf("the work ended with %v", cause)
	}
	if _, err := rival.TryAcquire(t.Context(), "x"); !errors.Is(err, tenure.ErrHeld) {
		t.Errorf("before the holder had released, another one got %v", err)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrAsked) {
		t.Errorf("the release says %v", err)
	}
	next, err := rival.TryAcquire(t.Context(), "x")
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	watch.Asked("ann again") // nobody holds it here
	if err := next.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
