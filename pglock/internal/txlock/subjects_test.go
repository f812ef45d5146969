package txlock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock"
	"github.com/tenurelock/tenure/pglock/sqltx"
)

// patience is how long a wait may take that is to end.
const patience = 30 * time.Second

// how is how a name is locked.
type how struct{ try, shared bool }

// transaction is one of pgx or of database/sql.
type transaction interface {
	lock(ctx context.Context, name string, h how, limit ...time.Duration) error
	exec(statement string) error
	value(query string) (string, error)
	commit() error
	rollback() error
}

// subject is one way to use the locks: a package, a query mode, a path to the server.
type subject struct {
	begin func(t *testing.T, isolation pgx.TxIsoLevel) transaction
	plain func(t *testing.T) *session // a connection straight to the server, as another program's
}

// each runs a rule on every subject: where the statement's form or the path to the server could make a difference. What is
// left, the modes in which pgx describes a statement, differs from these by a round trip, and pglock tests that.
func each(t *testing.T, rule func(t *testing.T, s subject)) {
	both(t, rule)
	direct := server.URL("") + "&default_query_exec_mode="
	run(t, "pgx/exec", direct+"exec", overPgx, rule)
	run(t, "pgx/simple", direct+"simple_protocol", overPgx, rule)
	run(t, "sql/simple", direct+"simple_protocol", overSQL, rule)
	// Version 1.18 knows no prepared statements.
	pooled := servers.StartPgBouncer(t, server, servers.PgBouncerOptions{PoolMode: "transaction"}).URL("") + "&default_query_exec_mode="
	run(t, "pgbouncer/pgx/exec", pooled+"exec", overPgx, rule)
	run(t, "pgbouncer/sql/simple", pooled+"simple_protocol", overSQL, rule)
}

// both runs a rule over pgx and over database/sql, as they are by default.
func both(t *testing.T, rule func(t *testing.T, s subject)) {
	run(t, "pgx", server.URL(""), overPgx, rule)
	run(t, "sql", server.URL(""), overSQL, rule)
}

func run(t *testing.T, name, url string, over func(*testing.T, string) func(*testing.T, pgx.TxIsoLevel) transaction,
	rule func(*testing.T, subject),
) {
	t.Run(name, func(t *testing.T) {
		rule(t, subject{begin: over(t, url), plain: func(t *testing.T) *session { return connect(t, server.URL("")) }})
	})
}

func overPgx(t *testing.T, url string) func(*testing.T, pgx.TxIsoLevel) transaction {
	pool, err := pgxpool.New(t.Context(), url+"&pool_max_conns=10")
	must(t, err)
	t.Cleanup(pool.Close)
	return func(t *testing.T, isolation pgx.TxIsoLevel) transaction {
		tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: isolation})
		must(t, err)
		t.Cleanup(func() { tx.Rollback(context.Background()) })
		return pgxTransaction{tx}
	}
}

type pgxTransaction struct{ pgx.Tx }

func (tx pgxTransaction) lock(ctx context.Context, name string, h how, limit ...time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var options []pglock.TxOption
	for _, l := range limit {
		options = append(options, pglock.TxTimeout(l))
	}
	return map[how]func(context.Context, pgx.Tx, string, ...pglock.TxOption) error{
		{}: pglock.LockTx, {try: true}: pglock.TryLockTx, {shared: true}: pglock.LockTxShared, {try: true, shared: true}: pglock.TryLockTxShared,
	}[h](ctx, tx.Tx, name, options...)
}

func (tx pgxTransaction) exec(statement string) error {
	_, err := tx.Exec(context.Background(), statement)
	return err
}

func (tx pgxTransaction) value(query string) (value string, err error) {
	err = tx.QueryRow(context.Background(), query).Scan(&value)
	return value, err
}

func (tx pgxTransaction) commit() error   { return tx.Commit(context.Background()) }
func (tx pgxTransaction) rollback() error { return tx.Rollback(context.Background()) }

func overSQL(t *testing.T, url string) func(*testing.T, pgx.TxIsoLevel) transaction {
	config, err := pgx.ParseConfig(url)
	must(t, err)
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { db.Close() })
	levels := map[pgx.TxIsoLevel]sql.IsolationLevel{
		pgx.ReadUncommitted: sql.LevelReadUncommitted, pgx.ReadCommitted: sql.LevelReadCommitted,
		pgx.RepeatableRead: sql.LevelRepeatableRead, pgx.Serializable: sql.LevelSerializable,
	}
	return func(t *testing.T, isolation pgx.TxIsoLevel) transaction {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: levels[isolation]})
		must(t, err)
		t.Cleanup(func() { tx.Rollback() })
		return sqlTransaction{tx}
	}
}

type sqlTransaction struct{ *sql.Tx }

func (tx sqlTransaction) lock(ctx context.Context, name string, h how, limit ...time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var options []sqltx.Option
	for _, l := range limit {
		options = append(options, sqltx.TxTimeout(l))
	}
	return map[how]func(context.Context, *sql.Tx, string, ...sqltx.Option) error{
		{}: sqltx.Lock, {try: true}: sqltx.TryLock, {shared: true}: sqltx.LockShared, {try: true, shared: true}: sqltx.TryLockShared,
	}[h](ctx, tx.Tx, name, options...)
}

func (tx sqlTransaction) exec(statement string) error {
	_, err := tx.Exec(statement)
	return err
}

func (tx sqlTransaction) value(query string) (value string, err error) {
	err = tx.QueryRow(query).Scan(&value)
	return value, err
}

func (tx sqlTransaction) commit() error   { return tx.Commit() }
func (tx sqlTransaction) rollback() error { return tx.Rollback() }

// session is a connection that uses plain SQL.
type session struct {
	*pgx.Conn
	t *testing.T
}

func connect(t *testing.T, url string) *session {
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return &session{conn, t}
}

func (s *session) exec(statements string) {
	s.t.Helper()
	_, err := s.Exec(s.t.Context(), statements)
	must(s.t, err)
}

// value gives the one value of a query as text.
func (s *session) value(query string) string {
	s.t.Helper()
	var value string
	must(s.t, s.QueryRow(s.t.Context(), query, pgx.QueryExecModeSimpleProtocol).Scan(&value))
	return value
}

// here limits pg_locks to the advisory locks of the database (H37).
const here = " from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"

// until waits until a query gives what is wanted.
func (s *session) until(query, want string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		got := s.value(query)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s gives %q, and was to give %q", query, got, want)
		}
	}
}

// waiting waits until so many wait for locks of the database.
func (s *session) waiting(n int) {
	s.t.Helper()
	s.until("select count(*)::text"+here+" and not granted", fmt.Sprint(n))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// code is the SQLSTATE in an error.
func code(err error) string {
	var answered *pgconn.PgError
	if errors.As(err, &answered) {
		return answered.Code
	}
	return ""
}

// refused checks an error's kind and what it says, the name always included.
func refused(t *testing.T, err, kind error, name string, says ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("%v: it is not %q", err, kind)
	}
	for _, part := range append(says, fmt.Sprintf("%q", name)) {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: it does not say %s", err, part)
		}
	}
}
