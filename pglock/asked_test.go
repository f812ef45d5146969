package pglock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
)

// TestAskedThroughTheList: who writes into the holder's row of tenure.holding asks it to give the lease up. It hears of that
// with a heartbeat, and ends the work; the name passes on when it has released.
func TestAskedThroughTheList(t *testing.T) {
	t.Parallel()
	url := pglock.SharedServer.Database(t)
	store, err := pglock.Open(t.Context(), url, pglock.Options{TTL: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.WithoutCancel(t.Context()))
	locker, err := tenure.New(store, tenure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := locker.Acquire(t.Context(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	work := lease.Context(t.Context())
	for asked := ""; asked != "1"; time.Sleep(10 * time.Millisecond) { // it is listed from the first heartbeat on
		if work.Err() != nil {
			t.Fatalf("the lease ended before anybody asked: %v", context.Cause(work))
		}
		asked = pglock.SharedServer.SQL(t, url, "with w as (update tenure.holding set wanted = 'ann on web-1' where name = 'nightly' returning 1) select count(*) from w")
	}
	<-work.Done()
	if cause := context.Cause(work); !errors.Is(cause, tenure.ErrAsked) {
		t.Errorf("the work ended with %v", cause)
	}
	if held := pglock.SharedServer.SQL(t, url, "select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"); held != "1" {
		t.Errorf("%s locks are held before the holder has released", held)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrAsked) {
		t.Errorf("the release says %v", err)
	}
	again, err := locker.TryAcquire(t.Context(), "nightly")
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if rows := pglock.SharedServer.SQL(t, url, "select count(*) from tenure.holding"); rows != "0" {
		t.Errorf("%s rows are listed after the release", rows)
	}
	if err := again.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
