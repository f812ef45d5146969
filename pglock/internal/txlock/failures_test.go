package txlock_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/internal/servers"
)

// TestAbortedTransactionsLockNothing, and say why.
func TestAbortedTransactionsLockNothing(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		tx := s.begin(t, "")
		if err := tx.exec("select 1/0"); err == nil {
			t.Fatal("no error")
		}
		err := tx.lock(t.Context(), "account/7", how{})
		if code(err) != "25P02" {
			t.Errorf("%v has the code %q", err, code(err))
		}
		refused(t, err, err, "account/7", "earlier error", "roll it back")
		must(t, tx.rollback())
	})
}

// TestEndedTransactionsLockNothing, and say so.
func TestEndedTransactionsLockNothing(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		for _, end := range []func(transaction) error{transaction.commit, transaction.rollback} {
			tx := s.begin(t, "")
			must(t, end(tx))
			err := tx.lock(t.Context(), "account/7", how{})
			if !errors.Is(err, pgx.ErrTxClosed) && !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("%v: it does not say that the transaction is over", err)
			}
			refused(t, err, err, "account/7")
		}
	})
}

// TestH28LockTimeoutIsTheUsers: it ends the wait with ErrHeld, and says which setting did.
func TestH28LockTimeoutIsTheUsers(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		holder, waiter, third := s.begin(t, ""), s.begin(t, ""), s.begin(t, "")
		must(t, holder.lock(t.Context(), "busy", how{}))
		must(t, waiter.lock(t.Context(), "other", how{}))
		must(t, waiter.exec("set local lock_timeout = '10ms'"))
		err := waiter.lock(t.Context(), "busy", how{})
		refused(t, err, tenure.ErrHeld, "busy", "lock_timeout", "aborted")
		var held *tenure.HeldError
		if !errors.As(err, &held) || held.Name != "busy" || code(err) != "55P03" {
			t.Errorf("%v is no HeldError with the server's own", err)
		}
		must(t, third.lock(t.Context(), "other", how{try: true})) // the abort has freed it, without a ROLLBACK
		must(t, waiter.rollback())
		must(t, third.exec("set local statement_timeout = '10ms'"))
		if err := third.lock(t.Context(), "busy", how{}); code(err) != "57014" || errors.Is(err, tenure.ErrHeld) {
			t.Errorf("after statement_timeout: %v", err)
		}
	})
}

// TestH34DeadlocksHaveAVictim, which is told to start again, and the other goes on.
func TestH34DeadlocksHaveAVictim(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		txs := []transaction{s.begin(t, ""), s.begin(t, "")}
		names := []string{"a", "b"}
		for i, tx := range txs {
			must(t, tx.exec("set local deadlock_timeout = '20ms'"))
			must(t, tx.lock(t.Context(), names[i], how{}))
		}
		var ends [2]chan error
		for i, tx := range txs {
			ends[i] = make(chan error, 1)
			go func() { ends[i] <- tx.lock(t.Context(), names[1-i], how{}) }()
			if i == 0 {
				plain.waiting(1)
			}
		}
		errs := []error{<-ends[0], <-ends[1]}
		victim := 0
		if errs[0] == nil {
			victim = 1
		}
		if code(errs[victim]) != "40P01" || errors.Is(errs[victim], tenure.ErrHeld) {
			t.Fatalf("%v has the code %q", errs[victim], code(errs[victim]))
		}
		refused(t, errs[victim], errs[victim], names[1-victim], "run all of it again")
		// The abort has freed the victim's own lock, which an aborted session would have kept.
		must(t, errs[1-victim])
		must(t, txs[1-victim].commit())
		must(t, txs[victim].rollback())
	})
}

// TestCancelledWaitersLeaveTheQueue: the error is the context's, the transaction is over, and others go on.
func TestCancelledWaitersLeaveTheQueue(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		holder, waiter, next := s.begin(t, ""), s.begin(t, ""), s.begin(t, "")
		must(t, holder.lock(t.Context(), "busy", how{}))
		must(t, waiter.lock(t.Context(), "its own", how{}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- waiter.lock(ctx, "busy", how{}) }()
		plain.waiting(1)
		cancel()
		err := <-ended
		refused(t, err, context.Canceled, "busy")
		plain.until("select count(*)::text"+here, "1") // neither the wait nor what it held
		if err := waiter.exec("select 1"); err == nil {
			t.Error("the transaction goes on")
		}
		must(t, holder.commit())
		must(t, next.lock(t.Context(), "busy", how{try: true}))
	})
}

// TestEndedContextsLockNothing.
func TestEndedContextsLockNothing(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		tx := s.begin(t, "")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		refused(t, tx.lock(ctx, "account/7", how{}), context.Canceled, "account/7")
		plain.until("select count(*)::text"+here, "0")
	})
}

// TestH33StandbysAreRefused: they would grant a lock that excludes nobody on the primary.
func TestH33StandbysAreRefused(t *testing.T) {
	standby := server.Standby(t, servers.PostgresOptions{})
	for name, over := range map[string]func(*testing.T, string) func(*testing.T, pgx.TxIsoLevel) transaction{"pgx": overPgx, "sql": overSQL} {
		t.Run(name, func(t *testing.T) {
			begin, plain := over(t, standby.URL("")), connect(t, standby.URL(""))
			if got := plain.value("select pg_try_advisory_lock(1)::text"); got != "true" {
				t.Fatalf("a standby says %q", got)
			}
			for _, isolation := range []pgx.TxIsoLevel{"", pgx.RepeatableRead} { // not hot_standby's fault: it knows no serializable
				tx := begin(t, isolation)
				for _, h := range []how{{}, {try: true}, {shared: true}, {try: true, shared: true}} {
					refused(t, tx.lock(t.Context(), "pgkey:1", h), tenure.ErrUnsupported, "pgkey:1", "standby", "primary")
				}
				if got, err := tx.value("select count(*)::text" + here); err != nil || got != "1" {
					t.Errorf("beside the session's lock there are %s, %v", got, err)
				}
				must(t, tx.commit())
			}
		})
	}
}

// TestH36ConcurrentIndexWaitsForWaiters, so that it deadlocks under a session lock for which transactions wait.
func TestH36ConcurrentIndexWaitsForWaiters(t *testing.T) {
	both(t, func(t *testing.T, s subject) {
		plain := s.plain(t)
		plain.exec("create table indexed (n int)")
		defer plain.exec("drop table indexed")
		plain.exec("set deadlock_timeout = '20ms'; select pg_advisory_lock(36)")
		waiter, granted := s.begin(t, ""), make(chan error)
		go func() { granted <- waiter.lock(t.Context(), "pgkey:36", how{}) }()
		s.plain(t).waiting(1)
		if _, err := plain.Exec(t.Context(), "create index concurrently on indexed (n)"); code(err) != "40P01" {
			t.Errorf("CREATE INDEX CONCURRENTLY ends with %v", err)
		}
		plain.exec("select pg_advisory_unlock(36)") // the victim's session has kept it (H34)
		must(t, <-granted)
		must(t, waiter.commit())
	})
}
