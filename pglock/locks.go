package pglock

import (
	"context"
	_ "embed" // the statements
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/key"
	"github.com/tenurelock/tenure/pglock/internal/session"
)

// Lock is a lock that somebody holds or waits for.
type Lock struct {
	// Key is the store's key, as Store.Key gives it: "bigint:-123" or "int4:1001,42"; in mode Rows, the name.
	Key string
	// Names are those that Tenure's processes are known to use for the key: none for a lock of other programs, one as a rule,
	// and several where names collide, which then wait for each other without need. A name is noted with the first heartbeat
	// of a lease of it, a third of the TTL after its grant, and forgotten when nobody has used it for long.
	Names []string
	// Holders are several where they share the lock.
	Holders []Session
	// Waiters are in order. Of one process that is the caller who is next; those behind it wait inside the process.
	Waiters []Session
}

// Name gives a name that stands for the lock, for Acquire and for the command: the one that is known, or the reserved form
// of the key, such as "pgkey:1001,42".
func (l Lock) Name() string {
	if len(l.Names) > 0 {
		return l.Names[0]
	}
	_, integers, _ := strings.Cut(l.Key, ":")
	return key.Prefix + integers
}

// Session is one holder of a [Lock], or one that waits for it, as the server shows it. What is not known is zero: of other
// roles' sessions the server tells a role without pg_read_all_stats only the application's name, and "<insufficient
// privilege>" in place of the query. In mode Rows there is no server session behind a lease, so that all of that is zero.
type Session struct {
	// Holder describes the client. It is Foreign where no Store of Tenure's has the session: another program's, or a
	// transaction's (LockTx). Program is then the application's name.
	//
	// Since is when the lock was granted, or, of a waiter, when its wait in the server began: Tenure's own waits begin anew
	// every minute. The server does not note when it granted an advisory lock, so of holders Since is known only for leases of
	// Tenure's that are older than a heartbeat. For the others the ages below are what there is: a lock is no older than its
	// session, and one of a transaction no older than that.
	tenure.Holder
	// Age is how long ago Since was. All ages are by the server's clock.
	Age time.Duration
	// Until, in mode Rows, is when the lease, or the place of a waiter, ends unless it is renewed.
	Until time.Time

	// Backend is the server's process id of the session, for pg_terminate_backend. Zero: a prepared transaction.
	Backend int
	// BlockedBy are the backends for which this one waits: holders, and waiters in front of it.
	BlockedBy []int
	// Application is the whole application_name.
	Application string
	// Role is the database role.
	Role string
	// Client is the client's address; empty over a Unix socket.
	Client string
	// State is "active", "idle", "idle in transaction" and so on, and StateAge for how long.
	State    string
	StateAge time.Duration
	// Waits is what the session waits for, as "Lock:advisory" or "Client:ClientRead".
	Waits string
	// Query is the statement that runs, or the last one that ran, and QueryAge how long ago it began. It may be cut off.
	Query    string
	QueryAge time.Duration
	// TransactionAge is how long ago the present transaction began; zero if there is none.
	TransactionAge time.Duration
	// SessionAge is how long ago the session began.
	SessionAge time.Duration
}

var (
	//go:embed sql/advisory.sql
	advisorySQL string
	//go:embed sql/leases.sql
	leasesSQL string
)

// Locks lists all locks of the store's database that somebody holds or waits for, those of other programs included: the
// advisory locks, or, in mode Rows, the lease rows, which are a world of their own. It asks over a connection that it opens
// and closes. The list is of the moment, and was never true of any one instant: the server looks at locks and at sessions
// one after the other.
//
// Inspect tells of one name alone, and of this process's own leases more.
func (s *Store) Locks(ctx context.Context) ([]Lock, error) {
	locks, err := s.locks(ctx)
	if err != nil {
		return nil, fmt.Errorf("pglock: list the locks of %s: %w", s.dialer.Address(), err)
	}
	return locks, nil
}

func (s *Store) locks(ctx context.Context) ([]Lock, error) {
	if s.closed.Load() {
		return nil, driver.ErrClosed
	}
	conn, err := s.dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it has been read, or is of no use
	statement, read := advisorySQL, readAdvisory
	if s.mode == Rows {
		statement, read = leasesSQL, readLeases
	}
	rows, err := conn.Query(ctx, statement, pgx.QueryExecModeExec) // prepares nothing, which a pooler could lose
	if err != nil {
		return nil, err
	}
	return read(rows)
}

// listing collects rows that are sorted by key.
type listing []Lock

func (l *listing) add(key string, names []string, granted bool, one Session) {
	if n := len(*l); n == 0 || (*l)[n-1].Key != key {
		*l = append(*l, Lock{Key: key, Names: names})
	}
	last := &(*l)[len(*l)-1]
	if granted {
		last.Holders = append(last.Holders, one)
	} else {
		last.Waiters = append(last.Waiters, one)
	}
}

// advisory is a row of advisory.sql.
type advisory struct {
	class, object, form                              int64
	names                                            []string
	granted, shared                                  bool
	waiting, state, query, transaction, session, now *int64 // µs since 1970
	holder, host, program, note                      *string
	acq, number, since, pid                          *int64
}

func readAdvisory(rows pgx.Rows) ([]Lock, error) {
	var list listing
	var r advisory
	var one Session
	_, err := pgx.ForEachRow(rows, []any{
		&r.class, &r.object, &r.form, &r.names, &r.granted, &r.shared, &one.Backend, &one.BlockedBy, &r.waiting, &one.Application,
		&one.Role, &one.Client, &one.State, &one.Waits, &one.Query, &r.state, &r.query, &r.transaction, &r.session, &r.now,
		&r.holder, &r.acq, &r.number, &r.since, &r.host, &r.pid, &r.program, &r.note,
	}, func() error {
		described := one
		r.describe(&described)
		list.add(key.FromLock(uint32(r.class), uint32(r.object), uint16(r.form)).String(), r.names, r.granted, described)
		r, one = advisory{}, Session{} // no array is to be filled twice
		return nil
	})
	return list, err
}

// describe tells who a session is, by its lease where that is listed, else by its application's name.
func (r *advisory) describe(s *Session) {
	known, ours := session.ParseApplicationName(s.Application)
	switch {
	case r.holder != nil:
		known = tenure.Holder{
			Host: *r.host, PID: int(*r.pid), Program: *r.program, Note: *r.note,
			Session: *r.holder, Acq: uint64(*r.acq), Number: *r.number,
		}
	case !ours:
		known = tenure.Holder{Foreign: true, Program: s.Application}
	}
	since := r.since
	if !r.granted {
		since = r.waiting
	}
	if since != nil {
		known.Since, s.Age = time.UnixMicro(*since), r.age(since)
	}
	if r.shared {
		known.Mode = driver.Shared
	}
	s.Holder = known
	s.StateAge, s.QueryAge, s.TransactionAge, s.SessionAge = r.age(r.state), r.age(r.query), r.age(r.transaction), r.age(r.session)
}

// age is how long ago a time was; zero if it is not known.
func (r *advisory) age(at *int64) time.Duration {
	if at == nil {
		return 0
	}
	return max(0, time.Duration(*r.now-*at)*time.Microsecond)
}

func readLeases(rows pgx.Rows) ([]Lock, error) {
	var list listing
	var name string
	var granted bool
	var one tenure.Holder
	var acq, since, until, now int64
	_, err := pgx.ForEachRow(rows, []any{
		&name, &granted, &one.Session, &acq, &one.Number, &one.Host, &one.PID, &one.Program, &one.Note, &since, &until, &now,
	}, func() error {
		one.Acq, one.Since = uint64(acq), time.UnixMicro(since)
		list.add(name, []string{name}, granted, Session{
			Holder: one, Age: max(0, time.Duration(now-since)*time.Microsecond), Until: time.UnixMicro(until),
		})
		return nil
	})
	return list, err
}
