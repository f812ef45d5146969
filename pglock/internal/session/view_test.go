package session

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure/pglock/internal/key"
)

// view is what the server sees, on a connection of its own. It may be used from many goroutines.
type view struct {
	t    testing.TB
	mu   sync.Mutex
	conn *pgx.Conn
}

func look(t testing.TB, url string) *view {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &view{t: t, conn: conn}
}

// do runs statements.
func (v *view) do(sql string) {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.conn.PgConn().Exec(context.Background(), sql).Close(); err != nil {
		v.t.Fatal(err)
	}
}

// count reads a number.
func (v *view) count(sql string, args ...any) (n int) {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.conn.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		v.t.Fatalf("%v, of: %s", err, sql)
	}
	return n
}

const thisDatabase = "(select oid from pg_database where datname = current_database())"

func (v *view) locks(name string, granted bool) int {
	v.t.Helper()
	k, err := key.Of(name)
	if err != nil {
		v.t.Fatal(err)
	}
	class, object, form := k.Lock()
	return v.count("select count(*) from pg_locks where locktype = 'advisory' and database = "+thisDatabase+
		" and granted = $1 and classid::bigint = $2 and objid::bigint = $3 and objsubid::bigint = $4", granted, int64(class), int64(object), int64(form))
}

// holders counts the sessions that hold a name, queue those that wait for it.
func (v *view) holders(name string) int { v.t.Helper(); return v.locks(name, true) }
func (v *view) queue(name string) int   { v.t.Helper(); return v.locks(name, false) }

// advisory counts the advisory locks of the database that are held or waited for.
func (v *view) advisory() int {
	v.t.Helper()
	return v.count("select count(*) from pg_locks where locktype = 'advisory' and database = " + thisDatabase)
}

// connections counts those with the database, but for the view's own.
func (v *view) connections() int {
	v.t.Helper()
	return v.count("select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'")
}

// waiting counts the backends that wait for an advisory lock.
func (v *view) waiting() int {
	v.t.Helper()
	return v.count("select count(*) from pg_locks where locktype = 'advisory' and not granted and database = " + thisDatabase)
}

// pid is the backend of a session's main line.
func (s *Store) pid(t testing.TB) int64 {
	t.Helper()
	l, err := s.mainLine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l.backend.pid
}

// agrees compares what a session believes to hold with what the server says, when nothing is under way.
func (v *view) agrees(s *Store) {
	v.t.Helper()
	s.mu.Lock()
	lines := slices.Collect(maps.Keys(s.extras))
	if s.main != nil {
		lines = append(lines, s.main)
	}
	s.mu.Unlock()
	for _, l := range lines {
		var believed, claimed, there int
		until(v.t, prompt, "the session and the server agree", func() bool {
			if _, err := l.query(v.t.Context(), "beat", nil, nil); err != nil { // whatever was under way is over
				v.t.Fatal(err)
			}
			l.mu.Lock()
			if l.busy && !l.parked {
				l.mu.Unlock()
				return false
			}
			believed = len(l.keys)
			l.mu.Unlock()
			claimed = 0
			s.mu.Lock()
			for _, c := range s.claims {
				if c.state == held && c.line == l {
					claimed++
				}
			}
			s.mu.Unlock()
			there = v.count("select count(*) from pg_locks where locktype = 'advisory' and granted and pid = $1", l.backend.pid)
			return true
		})
		if believed != there || claimed < there {
			v.t.Errorf("backend %d has %d locks, of which the line knows %d, and %d are claimed", l.backend.pid, there, believed, claimed)
		}
	}
}

// sabotage gives the connections of a configuration statements of the test's own, to be run on them with runs.
func sabotage(t testing.TB, url string, statements map[string]string) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		var all []error
		for name, sql := range statements {
			_, err := conn.Prepare(ctx, name, sql, nil)
			all = append(all, err)
		}
		return errors.Join(all...)
	}
	return config
}

// runs has the session's main line run a statement.
func (s *Store) runs(t testing.TB, statement string) (first string) {
	t.Helper()
	err := s.query(t.Context(), statement, nil, func(values [][]byte) { first = string(values[0]) })
	if err != nil {
		t.Fatal(err)
	}
	return first
}
