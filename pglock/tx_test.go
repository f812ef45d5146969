package pglock_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
)

// The rules that hold over database/sql as well are in internal/txlock.

// TestH74NestedTransactions lock for their parent when they commit, and free the lock when they roll back (H74).
func TestH74NestedTransactions(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	tx, other := begin(t, connect(t, database), ""), begin(t, connect(t, database), "")
	for _, c := range []struct {
		end  func(pgx.Tx, context.Context) error
		kept error
	}{{pgx.Tx.Rollback, nil}, {pgx.Tx.Commit, tenure.ErrHeld}} {
		nested, err := tx.Begin(t.Context())
		must(t, err)
		must(t, pglock.LockTx(t.Context(), nested, "account/7"))
		isErr(t, pglock.TryLockTx(t.Context(), other, "account/7"), tenure.ErrHeld)
		must(t, c.end(nested, t.Context()))
		isErr(t, pglock.LockTx(t.Context(), nested, "account/7"), pgx.ErrTxClosed)
		savepoint, err := other.Begin(t.Context())
		must(t, err)
		isErr(t, pglock.TryLockTx(t.Context(), savepoint, "account/7"), c.kept)
		must(t, savepoint.Rollback(t.Context()))
	}
	must(t, tx.Commit(t.Context()))
	must(t, pglock.TryLockTx(t.Context(), other, "account/7"))
}

// TestTransactionEndedInExec: the lock would be free again at once, and that is said.
func TestTransactionEndedInExec(t *testing.T) {
	conn := connect(t, pglock.SharedServer.Database(t))
	for _, end := range []string{"commit", "rollback"} {
		for _, lock := range []func(context.Context, pgx.Tx, string, ...pglock.TxOption) error{
			pglock.LockTx, pglock.TryLockTx, pglock.LockTxShared, pglock.TryLockTxShared,
		} {
			tx := begin(t, conn, "")
			_, err := tx.Exec(t.Context(), end)
			must(t, err)
			isErr(t, lock(t.Context(), tx, "account/7", pglock.TxTimeout(time.Minute)), tenure.ErrInvalid)
			var left int
			must(t, conn.QueryRow(t.Context(), "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()").Scan(&left))
			if left != 0 {
				t.Errorf("%d locks are left", left)
			}
			tx.Rollback(t.Context())
		}
	}
}

// TestTransactionWithoutConnection, as tests of users have: what it answers counts.
func TestTransactionWithoutConnection(t *testing.T) {
	tx := begin(t, connect(t, pglock.SharedServer.URL("")), "")
	must(t, pglock.LockTx(t.Context(), unconnected{tx}, "account/7"))
}

type unconnected struct{ pgx.Tx }

func (unconnected) Conn() *pgx.Conn { return nil }

// TestOneRoundTrip a call, once the connection's query mode has prepared what it prepares.
func TestOneRoundTrip(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	for mode, want := range map[pgx.QueryExecMode]struct{ first, later int64 }{
		pgx.QueryExecModeCacheStatement: {2, 1}, // the first call prepares
		pgx.QueryExecModeCacheDescribe:  {2, 1},
		pgx.QueryExecModeDescribeExec:   {2, 2},
		pgx.QueryExecModeExec:           {1, 1},
		pgx.QueryExecModeSimpleProtocol: {1, 1},
	} {
		t.Run(mode.String(), func(t *testing.T) {
			config, err := pgx.ParseConfig(database)
			must(t, err)
			config.DefaultQueryExecMode = mode
			var trips atomic.Int64
			dial := config.DialFunc
			config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				return &counting{Conn: conn, trips: &trips}, err
			}
			conn := connectWith(t, config)
			want := []int64{want.first, want.later, want.later, want.later, want.later}
			for range 2 { // the second transaction has nothing to prepare
				tx := begin(t, conn, "")
				before := trips.Load()
				for i, lock := range []func() error{
					func() error { return pglock.LockTx(t.Context(), tx, "a") },
					func() error { return pglock.TryLockTx(t.Context(), tx, "b", pglock.TxTimeout(time.Minute)) },
					func() error { return pglock.LockTxShared(t.Context(), tx, pglock.Key(1001, 42)) },
					func() error {
						return pglock.TryLockTxShared(t.Context(), tx, pglock.RawKey(-1), pglock.TxTimeout(time.Second))
					},
					func() error { return pglock.LockTx(t.Context(), tx, "a") },
				} {
					must(t, lock())
					after := trips.Load()
					if after-before != want[i] {
						t.Errorf("call %d takes %d round trips, want %d", i, after-before, want[i])
					}
					before = after
				}
				must(t, tx.Commit(t.Context()))
				want[0] = want[1]
			}
		})
	}
}

// counting counts how often a connection is written to after something was read from it.
type counting struct {
	net.Conn
	trips *atomic.Int64
	mu    sync.Mutex
	asked bool
}

func (c *counting) Write(b []byte) (int, error) {
	c.mu.Lock()
	if !c.asked {
		c.asked = true
		c.trips.Add(1)
	}
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	c.asked = c.asked && n == 0
	c.mu.Unlock()
	return n, err
}

// TestCounterLosesNoUpdate behind the lock. Without it, and one transaction reading before another writes, it does.
func TestCounterLosesNoUpdate(t *testing.T) {
	const workers, rounds = 6, 15
	pool, err := pgxpool.New(t.Context(), pglock.SharedServer.Database(t)+"&pool_max_conns=6")
	must(t, err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), "create table counter (id text primary key, n int); insert into counter values ('locked', 0), ('unlocked', 0)")
	must(t, err)

	count := func(id string, rounds int, lock func(pgx.Tx) error, read func()) (counted int) {
		var working sync.WaitGroup
		for range workers {
			working.Go(func() {
				for range rounds {
					err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
						if err := lock(tx); err != nil {
							return err
						}
						var n int
						if err := tx.QueryRow(t.Context(), "select n from counter where id = $1", id).Scan(&n); err != nil {
							return err
						}
						read()
						_, err := tx.Exec(t.Context(), "update counter set n = $1 where id = $2", n+1, id)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		working.Wait()
		must(t, pool.QueryRow(t.Context(), "select n from counter where id = $1", id).Scan(&counted))
		return counted
	}

	locked := count("locked", rounds, func(tx pgx.Tx) error {
		return pglock.LockTx(t.Context(), tx, "counter", pglock.TxTimeout(10*time.Second))
	}, func() {})
	if locked != workers*rounds {
		t.Errorf("behind the lock %d of %d updates are lost", workers*rounds-locked, workers*rounds)
	}
	var all sync.WaitGroup
	all.Add(workers)
	unlocked := count("unlocked", 1, func(pgx.Tx) error { return nil }, func() { all.Done(); all.Wait() })
	if unlocked != 1 {
		t.Errorf("without a lock the counter is %d: the test would see no lost update", unlocked)
	}
}

// TestWithoutTxTimeoutAStalledHolderHolds: what the option is for.
func TestWithoutTxTimeoutAStalledHolderHolds(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	stalled, limited, other := connect(t, database), connect(t, database), begin(t, connect(t, database), "")
	must(t, pglock.LockTx(t.Context(), begin(t, stalled, ""), "a"))
	late := begin(t, limited, "")
	must(t, pglock.LockTx(t.Context(), late, "b", pglock.TxTimeout(20*time.Millisecond)))
	must(t, pglock.LockTx(t.Context(), other, "b")) // by now the other has been idle as long
	isErr(t, pglock.TryLockTx(t.Context(), other, "a"), tenure.ErrHeld)
	if err := late.Commit(t.Context()); err == nil {
		t.Error("the late one has committed")
	}
}

// TestCancelledWithoutClosing: where pgx is told to cancel the statement and keep the connection, the error is the context's
// all the same, and the transaction is aborted.
func TestCancelledWithoutClosing(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	config, err := pgx.ParseConfig(database)
	must(t, err)
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: time.Minute}
	}
	holder, waiter, observer := begin(t, connect(t, database), ""), begin(t, connectWith(t, config), ""), connect(t, database)
	must(t, pglock.LockTx(t.Context(), holder, "busy"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- pglock.LockTx(ctx, waiter, "busy") }()
	for waiting := false; !waiting; {
		must(t, observer.QueryRow(t.Context(), "select exists (select from pg_locks where locktype = 'advisory' and not granted "+
			"and database = (select oid from pg_database where datname = current_database()))").Scan(&waiting))
	}
	cancel()
	err = <-ended
	isErr(t, err, context.Canceled)
	var answered *pgconn.PgError
	if !errors.As(err, &answered) || answered.Code != "57014" {
		t.Errorf("%v does not have the server's answer", err)
	}
	if err := pglock.LockTx(t.Context(), waiter, "busy"); !errors.As(err, &answered) || answered.Code != "25P02" {
		t.Errorf("the transaction goes on: %v", err)
	}
	must(t, waiter.Rollback(t.Context()))
}

// BenchmarkLockTx is begin, lock and commit, beside the same with the bare function.
func BenchmarkLockTx(b *testing.B) {
	conn, err := pgx.Connect(b.Context(), pglock.SharedServer.Database(b))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, c := range []struct {
		name string
		lock func(tx pgx.Tx) error
	}{
		{"bare", func(tx pgx.Tx) error {
			_, err := tx.Exec(b.Context(), "select pg_advisory_xact_lock($1)", int64(42))
			return err
		}},
		{"LockTx", func(tx pgx.Tx) error { return pglock.LockTx(b.Context(), tx, "report/daily") }},
		{"TryLockTx", func(tx pgx.Tx) error { return pglock.TryLockTx(b.Context(), tx, "report/daily") }},
		{"TxTimeout", func(tx pgx.Tx) error {
			return pglock.LockTx(b.Context(), tx, "report/daily", pglock.TxTimeout(time.Second))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := pgx.BeginFunc(b.Context(), conn, c.lock); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func begin(t *testing.T, conn *pgx.Conn, isolation pgx.TxIsoLevel) pgx.Tx {
	t.Helper()
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: isolation})
	must(t, err)
	return tx
}

func connectWith(t *testing.T, config *pgx.ConnConfig) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isErr wants an error of a kind; none if that is nil.
func isErr(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("%v: it is not %v", err, kind)
	}
}
