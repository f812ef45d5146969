package txlock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
)

// TestTxTimeoutIsSetWhileLocked: once the lock is held, for the transaction only, never above a limit in force.
func TestTxTimeoutIsSetWhileLocked(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		for _, c := range []struct {
			before string
			limit  time.Duration
			want   string
		}{
			{"0", time.Minute, "1min"},
			{"0", time.Minute + 1999*time.Microsecond, "60001ms"}, // rounded down
			{"0", 2147483647 * time.Millisecond, "2147483647ms"},
			{"60100", time.Hour, "60100ms"},
			{"60100ms", time.Minute, "1min"},
			{"60s", time.Minute, "1min"},
			{"61s", time.Hour, "61s"},
			{"5min", time.Hour, "5min"},
			{"5min", time.Minute, "1min"},
			{"3h", 24 * time.Hour, "3h"},
			{"2d", time.Hour, "1h"},
			{"2d", 72 * time.Hour, "2d"},
			{"2147483647", 24 * time.Hour, "1d"},
		} {
			for _, h := range []how{{}, {try: true}, {shared: true}, {try: true, shared: true}} {
				tx := s.begin(t, "")
				must(t, tx.exec("set local idle_in_transaction_session_timeout = '"+c.before+"'"))
				must(t, tx.lock(t.Context(), "account/7", h, c.limit))
				is(t, tx, c.want)
				must(t, tx.commit())
			}
		}
	})
}

// TestTxTimeoutEndsWithItsTransaction, or its savepoint, and is not there without the lock.
func TestTxTimeoutEndsWithItsTransaction(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		tx, other := s.begin(t, ""), s.begin(t, "")
		must(t, tx.lock(t.Context(), "account/7", how{}))
		is(t, tx, "0")
		must(t, tx.exec("savepoint a"))
		must(t, tx.lock(t.Context(), "account/8", how{}, time.Minute))
		is(t, tx, "1min")
		must(t, tx.lock(t.Context(), "account/9", how{}, time.Hour)) // looser: the first caller's stays
		is(t, tx, "1min")
		refused(t, other.lock(t.Context(), "account/7", how{try: true}, time.Minute), tenure.ErrHeld, "account/7")
		is(t, other, "0")
		must(t, other.commit())
		must(t, tx.exec("rollback to savepoint a"))
		is(t, tx, "0")
		must(t, tx.lock(t.Context(), "account/8", how{}, time.Minute))
		must(t, tx.commit())
		for range 4 { // whichever connection it is
			next := s.begin(t, "")
			is(t, next, "0")
			must(t, next.rollback())
		}
	})
}

// TestTxTimeoutsThatCannotBe are refused before anything is sent.
func TestTxTimeoutsThatCannotBe(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		tx := s.begin(t, "")
		for _, limit := range []time.Duration{0, -time.Second, time.Millisecond - 1, 2147483647*time.Millisecond + 1} {
			refused(t, tx.lock(t.Context(), "account/7", how{}, limit), tenure.ErrInvalid, "account/7", "TxTimeout", limit.String(), "between 1ms and")
		}
		if got, err := tx.value("select count(*)::text" + here); err != nil || got != "0" {
			t.Errorf("%s locks, %v", got, err)
		}
		must(t, tx.commit())
		shortest := s.begin(t, "")
		must(t, shortest.lock(t.Context(), "account/7", how{}, time.Millisecond))
		_ = shortest.rollback() // by now it may have been idle for as long
	})
}

// TestStalledHoldersWritesNeverLand: the server ends its session, the next in the queue goes on, and nothing is lost.
func TestStalledHoldersWritesNeverLand(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		plain.exec("create table counter (n int); insert into counter values (0)")
		defer plain.exec("drop table counter")
		stalled, next := s.begin(t, ""), s.begin(t, "")
		must(t, stalled.lock(t.Context(), "counter", how{}, 100*time.Millisecond))
		_ = stalled.exec("update counter set n = n + 1")  // on a very busy machine this is late already
		must(t, next.lock(t.Context(), "counter", how{})) // granted when the server has had enough
		must(t, next.exec("update counter set n = n + 1"))
		must(t, next.commit())
		if err := errors.Join(stalled.exec("update counter set n = n + 1"), stalled.commit()); err == nil {
			t.Error("the stalled holder has committed")
		}
		if got := plain.value("select n::text from counter"); got != "1" {
			t.Errorf("the counter is %s after one commit", got)
		}
	})
}

func is(t *testing.T, tx transaction, want string) {
	t.Helper()
	if got, err := tx.value("show idle_in_transaction_session_timeout"); err != nil || got != want {
		t.Errorf("idle_in_transaction_session_timeout is %q, %v, want %q", got, err, want)
	}
}
