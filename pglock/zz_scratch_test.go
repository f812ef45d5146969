package pglock_test

import (
	"context"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
)

func TestScratchConcurrently(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	one, two := newLocker(t, openStore(t, database, pglock.Options{})), newLocker(t, openStore(t, database, pglock.Options{}))
	lease, err := one.Acquire(t.Context(), "m")
	must(t, err)
	done := make(chan error)
	go func() {
		done <- two.Do(context.Background(), "m", func(context.Context, *tenure.Lease) error { return nil })
	}()
	st := openStore(t, database, pglock.Options{})
	untilLock(t, st, "m", func(l pglock.Lock) bool { return len(l.Waiters) == 1 })
	conn := connect(t, database)
	runSQL(t, conn, "create table x (id int)")
	start := time.Now()
	_, err = conn.Exec(t.Context(), "create index concurrently xi on x (id)")
	t.Log("index took", time.Since(start), err)
	t.Log("lease", lease.Err())
	must(t, lease.Release(t.Context()))
	must(t, <-done)
}
