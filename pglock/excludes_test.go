package pglock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
)

// TestPsqlExcludesALocker with pg_advisory_lock(1001, 42), and is excluded by it.
func TestPsqlExcludesALocker(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	psql := startPsql(t, database)
	locker := newLocker(t, openStore(t, database, pglock.Options{TTL: 3 * time.Second}))
	for name, arguments := range map[string]string{pglock.Key(1001, 42): "1001, 42", pglock.RawKey(42): "42"} {
		if got := psql.ask("select 'locked' from pg_advisory_lock(" + arguments + ");"); got != "locked" {
			t.Fatalf("psql says %q", got)
		}
		_, err := locker.TryAcquire(t.Context(), name)
		isErr(t, err, tenure.ErrHeld)
		var held *tenure.HeldError
		if !errors.As(err, &held) || !held.Holder.Foreign || held.Holder.Program != "psql" {
			t.Errorf("%v does not say that psql has it", err)
		}
		other, err := locker.TryAcquire(t.Context(), pglock.Key(42, 1001))
		must(t, err)
		must(t, other.Release(t.Context()))

		granted := make(chan *tenure.Lease)
		go func() {
			lease, err := locker.Acquire(context.Background(), name)
			if err != nil {
				t.Error(err)
			}
			granted <- lease
		}()
		waits := "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database());"
		for began := time.Now(); psql.ask(waits) != "1"; {
			if time.Since(began) > 30*time.Second {
				t.Fatal("we do not wait for psql")
			}
		}
		if got := psql.ask("select pg_advisory_unlock(" + arguments + ");"); got != "t" {
			t.Fatalf("psql says %q", got)
		}
		lease := <-granted
		if got := psql.ask("select pg_try_advisory_lock(" + arguments + ");"); got != "f" {
			t.Errorf("psql says %q while we hold it", got)
		}
		must(t, lease.Release(t.Context()))
		if got := psql.ask("select pg_try_advisory_lock(" + arguments + ");"); got != "t" {
			t.Errorf("psql says %q after our release", got)
		}
		if got := psql.ask("select pg_advisory_unlock(" + arguments + ");"); got != "t" {
			t.Fatalf("psql says %q", got)
		}
	}
}

// TestCollisionsExclude: two names of one key are false contention, and never held at once, between two processes and inside
// one.
func TestCollisionsExclude(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	one, two := openStore(t, database, pglock.Options{}), openStore(t, database, pglock.Options{})
	names := []string{"report/daily", twinOf("report/daily")}
	for _, c := range []struct {
		kind  string
		peers [2]*tenure.Locker
	}{
		{"across processes", [2]*tenure.Locker{newLocker(t, one), newLocker(t, two)}},
		{"in one process", [2]*tenure.Locker{newLocker(t, one), newLocker(t, one)}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			lease, err := c.peers[0].Acquire(t.Context(), names[0])
			must(t, err)
			_, err = c.peers[1].TryAcquire(t.Context(), names[1])
			isErr(t, err, tenure.ErrHeld)
			_, err = c.peers[1].Shared().TryAcquire(t.Context(), names[1])
			isErr(t, err, tenure.ErrHeld)
			must(t, lease.Release(t.Context()))

			var holders, rounds atomic.Int32
			done := make(chan error)
			const each = 50
			for i := range 4 {
				go func() {
					var err error
					for range each {
						err = errors.Join(err, c.peers[i%2].Do(context.Background(), names[i/2], func(context.Context, *tenure.Lease) error {
							defer holders.Add(-1)
							if holders.Add(1) > 1 {
								return errors.New("two hold the key")
							}
							rounds.Add(1)
							return nil
						}))
					}
					done <- err
				}()
			}
			for range 4 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if rounds.Load() != 4*each {
				t.Errorf("%d rounds", rounds.Load())
			}
		})
	}
}
