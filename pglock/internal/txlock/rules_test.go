package txlock_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
	"github.com/tenurelock/tenure/pglock/internal/key"
)

// TestExcludesUntilTheEnd of the transaction, by COMMIT and by ROLLBACK, and a refused try leaves a usable transaction.
func TestExcludesUntilTheEnd(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		for _, end := range []func(transaction) error{transaction.commit, transaction.rollback} {
			holder, other := s.begin(t, ""), s.begin(t, "")
			must(t, holder.lock(t.Context(), "account/7", how{}))
			must(t, holder.lock(t.Context(), "account/7", how{try: true})) // it has it already
			err := other.lock(t.Context(), "account/7", how{try: true})
			refused(t, err, tenure.ErrHeld, "account/7", "held")
			var held *tenure.HeldError
			if !errors.As(err, &held) || held.Name != "account/7" {
				t.Errorf("%#v is no HeldError of the name", err)
			}
			must(t, other.lock(t.Context(), "account/8", how{try: true}))
			must(t, end(holder))
			must(t, other.lock(t.Context(), "account/7", how{try: true}))
			must(t, other.commit())
		}
	})
}

// TestWaitsInTheQueue, first in, first out, with the bare statement.
func TestWaitsInTheQueue(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		holder := s.begin(t, "")
		must(t, holder.lock(t.Context(), "busy", how{}))
		order, ended := make(chan int, 3), make(chan error, 3)
		for i := range cap(order) {
			waiter := s.begin(t, "")
			go func() {
				err := waiter.lock(t.Context(), "busy", how{})
				order <- i
				ended <- errors.Join(err, waiter.commit())
			}()
			plain.waiting(i + 1)
		}
		if query := plain.value("select query from pg_stat_activity where wait_event = 'advisory' limit 1"); strings.Contains(query, "--") {
			t.Errorf("the comments travel with the statement:\n%s", query)
		}
		must(t, holder.commit())
		for i := range cap(order) {
			must(t, <-ended)
			if got := <-order; got != i {
				t.Errorf("waiter %d was granted as number %d", got, i)
			}
		}
	})
}

// TestReadersShare, and who waits to write holds back later readers.
func TestReadersShare(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		reader, second, writer, late := s.begin(t, ""), s.begin(t, ""), s.begin(t, ""), s.begin(t, "")
		must(t, reader.lock(t.Context(), "shared", how{shared: true}))
		must(t, second.lock(t.Context(), "shared", how{shared: true, try: true}))
		refused(t, writer.lock(t.Context(), "shared", how{try: true}), tenure.ErrHeld, "shared")
		must(t, second.commit())
		written := make(chan error)
		go func() { written <- writer.lock(t.Context(), "shared", how{}) }()
		plain.waiting(1)
		refused(t, late.lock(t.Context(), "shared", how{shared: true, try: true}), tenure.ErrHeld, "shared")
		must(t, reader.commit())
		must(t, <-written)
		refused(t, late.lock(t.Context(), "shared", how{shared: true, try: true}), tenure.ErrHeld, "shared")
		must(t, writer.commit())
		must(t, late.lock(t.Context(), "shared", how{shared: true}))
		must(t, late.commit())
	})
}

// TestH37H43LocksWhatTheNameStandsFor, and nothing else: pg_locks has one row, with the key's columns and the right mode.
func TestH37H43LocksWhatTheNameStandsFor(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		for _, name := range []string{
			"report/daily", "account/7", "'; drop table x; --", "$1", "a\\'b", "日本語", // hashes below zero and above
			pglock.RawKey(1), pglock.RawKey(0), pglock.RawKey(-1), pglock.RawKey(math.MinInt64), pglock.RawKey(math.MaxInt64),
			pglock.Key(0, 1), pglock.Key(0, 0), pglock.Key(-1, -1), pglock.Key(1001, 42), pglock.Key(math.MinInt32, math.MaxInt32),
		} {
			k, err := key.Of(name)
			must(t, err)
			classid, objid, objsubid := k.Lock()
			for _, h := range []how{{}, {try: true}, {shared: true}, {try: true, shared: true}} {
				mode := "ExclusiveLock"
				if h.shared {
					mode = "ShareLock"
				}
				tx := s.begin(t, "")
				must(t, tx.lock(t.Context(), name, h))
				want := fmt.Sprintf("%d %d %d %s true", classid, objid, objsubid, mode)
				if got := plain.value("select string_agg(concat_ws(' ', classid, objid, objsubid, mode, granted::text), '; ')" + here); got != want {
					t.Errorf("%q with %+v locks %s, want %s", name, h, got, want)
				}
				must(t, tx.commit())
			}
		}
	})
}

// TestH37PairAndBigintAreTwoLocks, though their bits are the same.
func TestH37PairAndBigintAreTwoLocks(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		one, other := s.begin(t, ""), s.begin(t, "")
		must(t, one.lock(t.Context(), pglock.Key(0, 1), how{try: true}))
		must(t, other.lock(t.Context(), pglock.RawKey(1), how{try: true}))
		must(t, one.commit())
		must(t, other.commit())
	})
}

// TestH43TwinsExcludeEachOther: names with one key, in two transactions, and are one lock in the same.
func TestH43TwinsExcludeEachOther(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		k, err := key.Of("report/daily")
		must(t, err)
		n, _ := k.Bigint()
		one, other := s.begin(t, ""), s.begin(t, "")
		must(t, one.lock(t.Context(), "report/daily", how{}))
		must(t, one.lock(t.Context(), pglock.RawKey(n), how{}))
		refused(t, other.lock(t.Context(), pglock.RawKey(n), how{try: true}), tenure.ErrHeld, pglock.RawKey(n))
		must(t, one.commit())
		must(t, other.lock(t.Context(), pglock.RawKey(n), how{}))
		must(t, other.commit())
	})
}

// TestSessionLocksExclude transaction locks of the same key, and the reverse.
func TestSessionLocksExclude(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		for name, args := range map[string]string{pglock.Key(1001, 42): "1001, 42", pglock.RawKey(-5): "-5", "account/7": "3223863329576628651"} {
			plain.value("select pg_advisory_lock(" + args + ")::text")
			tx := s.begin(t, "")
			refused(t, tx.lock(t.Context(), name, how{try: true}), tenure.ErrHeld, name)
			plain.value("select pg_advisory_unlock(" + args + ")::text")
			must(t, tx.lock(t.Context(), name, how{try: true}))
			if got := plain.value("select pg_try_advisory_lock(" + args + ")::text"); got != "false" {
				t.Errorf("a session has (%s) beside a transaction with %q", args, name)
			}
			must(t, tx.commit())
		}
	})
}

// TestH41H74SnapshotsAreRefused, without locking or waiting, and without aborting the transaction.
func TestH41H74SnapshotsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		holder := s.begin(t, "")
		must(t, holder.lock(t.Context(), "held", how{}))
		for _, isolation := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
			for _, h := range []how{{}, {try: true}, {shared: true}, {try: true, shared: true}} {
				for _, name := range []string{"held", "free"} { // neither is asked for, so "held" does not hang
					tx := s.begin(t, isolation)
					err := tx.lock(t.Context(), name, h, 777_000_000)
					refused(t, err, tenure.ErrInvalid, name, string(isolation), "read committed")
					if got, err := tx.value("show idle_in_transaction_session_timeout"); err != nil || got != "0" {
						t.Errorf("after the refusal the transaction's limit is %q, %v", got, err)
					}
					if got := plain.value("select count(*)::text" + here); got != "1" {
						t.Errorf("%s locks are held beside a refused one", got)
					}
					must(t, tx.commit())
				}
			}
		}
		must(t, holder.commit())
		for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.ReadUncommitted} {
			tx := s.begin(t, isolation)
			must(t, tx.lock(t.Context(), "free", how{}))
			must(t, tx.commit())
		}
	})
}

// TestH41WhyItIsRefused: after its wait a plain lock in REPEATABLE READ reads what was there before, ours in READ COMMITTED what
// the holder wrote. A refused call has taken the snapshot too, which is why its transaction is to be rolled back.
func TestH41WhyItIsRefused(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		plain.exec("create table seen (n int); insert into seen values (0)")
		defer plain.exec("drop table seen")
		name := pglock.RawKey(7)
		holder, stale, fresh, late := s.begin(t, ""), s.begin(t, pgx.RepeatableRead), s.begin(t, ""), s.begin(t, pgx.RepeatableRead)
		must(t, holder.lock(t.Context(), name, how{}))
		granted := make(chan error)
		go func() { granted <- stale.exec("select pg_advisory_xact_lock_shared(7)") }()
		go func() { granted <- fresh.lock(t.Context(), name, how{shared: true}) }()
		refused(t, late.lock(t.Context(), name, how{}), tenure.ErrInvalid, name)
		plain.waiting(2)
		must(t, holder.exec("update seen set n = 1"))
		must(t, holder.commit())
		must(t, errors.Join(<-granted, <-granted))
		for _, c := range []struct {
			tx   transaction
			want string
		}{{stale, "0"}, {fresh, "1"}, {late, "0"}} {
			if got, err := c.tx.value("select n::text from seen"); err != nil || got != c.want {
				t.Errorf("it reads %q, %v, want %q", got, err, c.want)
			}
			must(t, c.tx.commit())
		}
	})
}

// TestReadOnlyTransactionsLock.
func TestReadOnlyTransactionsLock(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		tx := s.begin(t, "")
		must(t, tx.exec("set transaction read only"))
		must(t, tx.lock(t.Context(), "account/7", how{}, 60_000_000_000))
		must(t, tx.commit())
	})
}

// TestH74RollbackToASavepointFreesTheLock, and RELEASE keeps it.
func TestH74RollbackToASavepointFreesTheLock(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		tx, other := s.begin(t, ""), s.begin(t, "")
		must(t, tx.lock(t.Context(), "before", how{}))
		must(t, tx.exec("savepoint a"))
		must(t, tx.lock(t.Context(), "after", how{}))
		must(t, tx.exec("rollback to savepoint a"))
		must(t, other.lock(t.Context(), "after", how{try: true}))
		refused(t, other.lock(t.Context(), "before", how{try: true}), tenure.ErrHeld, "before")
		must(t, tx.exec("savepoint b"))
		must(t, tx.lock(t.Context(), "kept", how{}))
		must(t, tx.exec("release savepoint b"))
		refused(t, other.lock(t.Context(), "kept", how{try: true}), tenure.ErrHeld, "kept")
		must(t, tx.commit())
		must(t, other.lock(t.Context(), "kept", how{try: true}))
		must(t, other.commit())
	})
}

// TestNamesThatCannotBe are refused before anything is sent, so that the transaction goes on.
func TestNamesThatCannotBe(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		tx := s.begin(t, "")
		for _, name := range []string{"", "a\x00b", "\xff", "pgkey:", "pgkey:x", "pgkey:1,2,3", strings.Repeat("x", 513)} {
			for _, h := range []how{{}, {try: true}, {shared: true}, {try: true, shared: true}} {
				refused(t, tx.lock(t.Context(), name, h), tenure.ErrInvalid, name)
			}
		}
		must(t, tx.lock(t.Context(), strings.Repeat("x", 512), how{}))
		must(t, tx.commit())
	})
}
