package pglock_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock"
)

// TestH37LocksTellsFormsAndDatabasesApart: bigint 1 is not (0, 1), and neither is the other database's (H37).
func TestH37LocksTellsFormsAndDatabasesApart(t *testing.T) {
	database, other := pglock.SharedServer.Database(t), pglock.SharedServer.Database(t)
	store := openStore(t, database, pglock.Options{})
	one, two := connectAs(t, database, "one"), connectAs(t, database, "two")
	runSQL(t, one, "select pg_advisory_lock(1), pg_advisory_lock(1001, 42), pg_advisory_lock_shared(42), pg_advisory_lock(-1)")
	runSQL(t, two, "select pg_advisory_lock(0, 1), pg_advisory_lock_shared(42), pg_advisory_lock(-1, -1), pg_advisory_lock(4294967295)")
	runSQL(t, connectAs(t, other, "other"), "select pg_advisory_lock(1), pg_advisory_lock(0, 1), pg_advisory_lock(99)")

	var got []string
	for _, l := range allLocks(t, store) {
		var who []string
		for _, h := range l.Holders {
			who = append(who, fmt.Sprint(h.Program, " ", h.Mode))
			if !h.Foreign || h.Application != h.Program || len(h.BlockedBy) > 0 {
				t.Errorf("%s: %#v", l.Key, h)
			}
		}
		slices.Sort(who)
		if len(l.Waiters) > 0 || len(l.Names) > 0 {
			t.Errorf("%s has %d waiters, and names %q", l.Key, len(l.Waiters), l.Names)
		}
		got = append(got, l.Key+" "+l.Name()+": "+strings.Join(who, ", "))
	}
	slices.Sort(got)
	want := []string{
		"bigint:-1 pgkey:-1: one exclusive",
		"bigint:1 pgkey:1: one exclusive",
		"bigint:42 pgkey:42: one shared, two shared",
		"bigint:4294967295 pgkey:4294967295: two exclusive",
		"int4:-1,-1 pgkey:-1,-1: two exclusive",
		"int4:0,1 pgkey:0,1: two exclusive",
		"int4:1001,42 pgkey:1001,42: one exclusive",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the list is\n%s\nand should be\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLocksDescribesOtherPrograms by what they last asked for, from where, and how long ago.
func TestLocksDescribesOtherPrograms(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	store := openStore(t, database, pglock.Options{})
	foreign := connectAs(t, database, "billing")
	tx := begin(t, foreign, "")
	must(t, pglock.LockTx(t.Context(), tx, pglock.RawKey(42)))
	_, err := tx.Exec(t.Context(), "select 'the last statement'")
	must(t, err)

	h := findLock(t, store, pglock.RawKey(42)).Holders[0]
	if h.Backend != int(foreign.PgConn().PID()) || h.Role != "postgres" || h.Client != "127.0.0.1" || !h.Since.IsZero() {
		t.Errorf("%#v", h)
	}
	if h.State != "idle in transaction" || h.Waits != "Client:ClientRead" || h.Query != "select 'the last statement'" {
		t.Errorf("%#v", h)
	}
	if h.StateAge <= 0 || h.QueryAge < h.StateAge || h.TransactionAge < h.QueryAge || h.SessionAge < h.TransactionAge {
		t.Errorf("the ages do not follow each other: %#v", h)
	}
	must(t, tx.Rollback(t.Context()))
	if all := allLocks(t, store); len(all) > 0 {
		t.Errorf("locks are left: %#v", all)
	}
}

// TestLocksTellsTheQueue: other programs behind us, and we behind them, in order and with who is in the way.
func TestLocksTellsTheQueue(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	first, second := openStore(t, database, pglock.Options{TTL: 3 * time.Second}), openStore(t, database, pglock.Options{TTL: 5 * time.Second})
	holder, waiter := newLocker(t, first), newLocker(t, second)
	foreign := connectAs(t, database, "billing")

	lease, err := holder.Acquire(t.Context(), pglock.Key(1001, 42))
	must(t, err)
	behind := make(chan error, 2)
	go func() {
		_, err := foreign.Exec(context.Background(), "select pg_advisory_lock(1001, 42)")
		behind <- err
	}()
	l := untilLock(t, first, pglock.Key(1001, 42), func(l pglock.Lock) bool { return len(l.Waiters) == 1 })
	ours, theirs := l.Holders[0], l.Waiters[0]
	if self := driver.Self(); ours.Foreign || ours.PID != self.PID || ours.Host != self.Host || !strings.HasPrefix(ours.Application, "tenure 3000ms ") {
		t.Errorf("we are not recognized: %#v", ours)
	}
	if !theirs.Foreign || theirs.Program != "billing" || theirs.Backend != int(foreign.PgConn().PID()) || theirs.Query != "select pg_advisory_lock(1001, 42)" {
		t.Errorf("the other program is not: %#v", theirs)
	}
	if !slices.Equal(theirs.BlockedBy, []int{ours.Backend}) || theirs.Waits != "Lock:advisory" || theirs.Since.IsZero() || theirs.Age <= 0 {
		t.Errorf("it waits for %d, and is told as %#v", ours.Backend, theirs)
	}

	granted := make(chan *tenure.Lease, 1)
	go func() {
		lease, err := waiter.Acquire(context.Background(), pglock.Key(1001, 42))
		granted <- lease
		behind <- err
	}()
	l = untilLock(t, second, pglock.Key(1001, 42), func(l pglock.Lock) bool { return len(l.Waiters) == 2 })
	if l.Waiters[0].Program != "billing" || l.Waiters[1].Foreign || l.Waiters[1].PID != os.Getpid() {
		t.Errorf("the order is not that of their coming: %#v", l.Waiters)
	}
	if blockers := l.Waiters[1].BlockedBy; !slices.Contains(blockers, theirs.Backend) || !slices.Contains(blockers, ours.Backend) {
		t.Errorf("the last one waits for %v", blockers)
	}
	// Listed by now: the grant's own time, number and session.
	l = untilLock(t, second, pglock.Key(1001, 42), func(l pglock.Lock) bool { return !l.Holders[0].Since.IsZero() })
	if h := l.Holders[0]; h.Session != first.Info().Session || h.Number != int64(lease.Token())>>8 || h.Age <= 0 || time.Since(h.Since) > time.Hour {
		t.Errorf("the lease is not told: %#v", h)
	}
	must(t, lease.Release(t.Context()))
	must(t, <-behind)
	l = untilLock(t, first, pglock.Key(1001, 42), func(l pglock.Lock) bool { return l.Holders[0].Program == "billing" })
	if !slices.Equal(l.Waiters[0].BlockedBy, []int{theirs.Backend}) {
		t.Errorf("we wait for %v", l.Waiters[0].BlockedBy)
	}
	runSQL(t, foreign, "select pg_advisory_unlock(1001, 42)")
	lease = <-granted
	must(t, <-behind)
	must(t, lease.Release(t.Context()))
}

// TestLocksTellsEveryReader of one process, which has one lock for them in the server.
func TestLocksTellsEveryReader(t *testing.T) {
	store := openStore(t, pglock.SharedServer.Database(t), pglock.Options{TTL: 3 * time.Second})
	readers := newLocker(t, store).Shared()
	for range 2 {
		lease, err := readers.Acquire(t.Context(), "report/daily")
		must(t, err)
		defer lease.Release(context.Background())
	}
	l := untilLock(t, store, "report/daily", func(l pglock.Lock) bool { return len(l.Holders) == 2 })
	for _, h := range l.Holders {
		if h.Mode != driver.Shared || h.Backend != l.Holders[0].Backend {
			t.Errorf("%#v", h)
		}
	}
}

// TestLocksTellsCollisions: every name that is known under the key.
func TestLocksTellsCollisions(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	one, two := openStore(t, database, pglock.Options{TTL: 3 * time.Second}), openStore(t, database, pglock.Options{TTL: 3 * time.Second})
	names := []string{twinOf("report/daily"), "report/daily"}
	for i, store := range []*pglock.Store{one, two} {
		lease, err := newLocker(t, store).Acquire(t.Context(), names[i])
		must(t, err)
		untilLock(t, store, "report/daily", func(l pglock.Lock) bool { return slices.Contains(l.Names, names[i]) })
		must(t, lease.Release(t.Context()))
	}
	lease, err := newLocker(t, one).Acquire(t.Context(), "report/daily")
	must(t, err)
	if l := findLock(t, two, "report/daily"); !slices.Equal(l.Names, names) {
		t.Errorf("the names are %q, not %q", l.Names, names)
	}
	must(t, lease.Release(t.Context()))
}

// TestLocksForARestrictedRole, from which the server hides what others do.
func TestLocksForARestrictedRole(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	role, restricted := restrictedRole(t, database)
	store := openStore(t, restricted, pglock.Options{})
	runSQL(t, connectAs(t, database, "billing"), "select pg_advisory_lock(42)")
	lease, err := newLocker(t, store).Acquire(t.Context(), "report/daily")
	must(t, err)
	defer lease.Release(context.Background())

	theirs := findLock(t, store, pglock.RawKey(42)).Holders[0]
	if !theirs.Foreign || theirs.Program != "billing" || theirs.Query != "<insufficient privilege>" || theirs.State != "" || theirs.StateAge != 0 {
		t.Errorf("%#v", theirs)
	}
	if ours := findLock(t, store, "report/daily").Holders[0]; ours.Foreign || ours.Role != role || ours.State == "" || ours.SessionAge == 0 {
		t.Errorf("%#v", ours)
	}
}

// TestLocksOfPreparedTransactions, which have no session.
func TestLocksOfPreparedTransactions(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{Settings: map[string]string{"max_prepared_transactions": "2"}})
	store := openStore(t, server.URL(""), pglock.Options{})
	server.SQL(t, "", "begin; select pg_advisory_xact_lock(1001, 42); prepare transaction 'transfer 7'")
	h := findLock(t, store, pglock.Key(1001, 42)).Holders[0]
	if !h.Foreign || h.Backend != 0 || h.Query != "prepared transaction transfer 7" || h.Role != "postgres" || h.TransactionAge <= 0 {
		t.Errorf("%#v", h)
	}
	server.SQL(t, "", "rollback prepared 'transfer 7'")
}

// TestLocksLeavesNothingBehind: no connection beside the one of each store, and no lock of its own.
func TestLocksLeavesNothingBehind(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	name, err := url.Parse(database)
	must(t, err)
	for i, mode := range []pglock.Mode{pglock.Sessions, pglock.Rows} {
		store := openStore(t, database, pglock.Options{Mode: mode})
		for range 3 {
			if all := allLocks(t, store); len(all) > 0 {
				t.Errorf("%v: %#v", mode, all)
			}
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := store.Locks(over)
		isErr(t, err, context.Canceled)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		count := "select count(*) from pg_stat_activity where datname = '" + name.Path[1:] + "'"
		for left := ""; left != fmt.Sprint(i+1); left = pglock.SharedServer.SQL(t, "", count) { // a backend takes a moment to go
			if ctx.Err() != nil {
				t.Fatalf("%v: there are %s connections", mode, left)
			}
		}
	}
}

// TestLocksOfRows has leases and waiters in the same form.
func TestLocksOfRows(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	one, two := openStore(t, database, pglock.Options{Mode: pglock.Rows}), openStore(t, database, pglock.Options{Mode: pglock.Rows})
	runSQL(t, connectAs(t, database, "billing"), "select pg_advisory_lock(42)") // another world
	lease, err := newLocker(t, one).Acquire(t.Context(), "report/daily")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	waiter := newLocker(t, two)
	gone := make(chan error)
	go func() {
		_, err := waiter.Acquire(ctx, "report/daily")
		gone <- err
	}()
	l := untilLock(t, two, "report/daily", func(l pglock.Lock) bool { return len(l.Waiters) == 1 })
	if all := allLocks(t, two); len(all) != 1 {
		t.Errorf("there are %d locks, not one: %#v", len(all), all)
	}
	h, w := l.Holders[0], l.Waiters[0]
	if h.Session != one.Info().Session || h.PID != os.Getpid() || h.Foreign || h.Number != int64(lease.Token())>>8 || h.Age <= 0 || !h.Until.After(h.Since) || h.Backend != 0 {
		t.Errorf("%#v", h)
	}
	if w.Session != two.Info().Session || w.Since.IsZero() || w.Number != 0 || !w.Until.After(w.Since) {
		t.Errorf("%#v", w)
	}
	if l.Name() != "report/daily" {
		t.Errorf("the name is %q", l.Name())
	}
	cancel()
	isErr(t, <-gone, context.Canceled)
	must(t, lease.Release(t.Context()))
}

// TestLocksAfterClose: a closed store lists nothing.
func TestLocksAfterClose(t *testing.T) {
	t.Parallel()
	store, err := pglock.Open(t.Context(), pglock.SharedServer.Database(t), pglock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Locks(t.Context()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("a closed store lists locks, or says %v", err)
	}
}
