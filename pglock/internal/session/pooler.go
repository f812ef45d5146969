package session

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure/pglock/internal/connect"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// ErrPooler says that a connection pooler is between us and the server.
var ErrPooler = errors.New("a connection pooler is in between")

func (s *Store) poolerError(format string, args ...any) error {
	return lasting(fmt.Errorf("%w: %s. Session locks need a server session for each connection, or two clients are granted one lock. "+
		"Use the server's own address; or lease rows (Options.Mode Rows, tenure_mode=rows in a URL), which work through any pooler; "+
		"or, if it pools whole sessions, say so (Options.SessionPooler, tenure_pooler=session)", ErrPooler, fmt.Sprintf(format, args...)))
}

// inBinary is the format of parameters and results.
var inBinary = []int16{1}

// identify finds out which backend a new connection speaks to, and refuses one that a pooler stands for: the process id in
// the connection's key data is then the pooler's invention, or missing.
func (s *Store) identify(ctx context.Context, conn connect.Conn) (b backend, err error) {
	const who = "select pid, 'pg_catalog.pg_advisory_unlock(bigint)'::regprocedure::oid from pg_stat_activity where pid = pg_backend_pid()"
	result := conn.PgConn().ExecParams(ctx, who, nil, nil, nil, inBinary).Read()
	if result.Err != nil {
		return b, result.Err
	}
	if len(result.Rows) != 1 {
		return b, s.poolerError("the server does not list the session that it answered in")
	}
	b.pid = wire.ParseInt(result.Rows[0][0])
	if oid := result.Rows[0][1]; !s.opts.Pooler && len(oid) == 4 {
		b.unlock = binary.BigEndian.Uint32(oid)
	}
	b.name = applicationName(s.ttl, s.info.Session, s.opened.Add(1))
	if told := int64(conn.PgConn().PID()); told != b.pid && !s.opts.Pooler {
		if told == 0 {
			return b, s.poolerError("the connection came without a process id, and process %d answered", b.pid)
		}
		return b, s.poolerError("the connection was said to be process %d, and process %d answered", told, b.pid)
	}
	return b, nil
}

// looks is how often the first connection is asked again which process answers. Where many clients share a pooler's sessions,
// it may be the same one by chance, again and again for a while.
const looks = 10

// behaves tries whether locks work through what is in between, whatever that says of itself: a lock that the first
// connection takes must be refused to a second one, belong to the first one's process, and still be there to be given back.
func (s *Store) behaves(ctx context.Context, first connect.Conn, b backend) error {
	var random [8]byte
	_, _ = rand.Read(random[:])
	k := int64(binary.BigEndian.Uint64(random[:]))
	second, err := s.dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = second.Close(context.WithoutCancel(ctx)) }()
	if err := s.tryLock(ctx, first, second, b, k); err != nil {
		// What is in between may keep the sessions, and in them the lock, which both connections may have been granted.
		for _, conn := range []connect.Conn{first, second, first, second} {
			_, _, _ = lockTest(ctx, conn, "pg_advisory_unlock", k)
		}
		return err
	}
	return nil
}

func (s *Store) tryLock(ctx context.Context, first, second connect.Conn, b backend, k int64) error {
	pid, ok, err := lockTest(ctx, first, "pg_try_advisory_lock", k)
	if err != nil {
		return err
	}
	if !ok || pid != b.pid {
		return s.poolerError("process %d answered in the place of process %d", pid, b.pid)
	}
	if pid, ok, err = lockTest(ctx, second, "pg_try_advisory_lock", k); err != nil {
		return err
	}
	if ok {
		return s.poolerError("two connections were granted one lock, by process %d and process %d", b.pid, pid)
	}
	// A pooler that shares sessions between statements allows no transaction.
	for _, statement := range []string{"begin", "rollback"} {
		result := second.PgConn().ExecParams(ctx, statement, nil, nil, nil, nil).Read()
		var refused *pgconn.PgError
		if errors.As(result.Err, &refused) {
			return s.poolerError("process %d answered, and no transaction is allowed: %v", b.pid, refused)
		}
		if result.Err != nil {
			return result.Err
		}
	}
	for range looks {
		const where = "select pid, pg_backend_pid() from pg_locks where locktype = 'advisory' and granted and objsubid = 1 and " +
			"database = (select oid from pg_database where datname = current_database()) and (classid::bigint << 32) | objid::bigint = $1"
		result := first.PgConn().ExecParams(ctx, where, [][]byte{wire.Int8(k)}, nil, inBinary, inBinary).Read()
		if result.Err != nil {
			return result.Err
		}
		if len(result.Rows) != 1 || wire.ParseInt(result.Rows[0][0]) != b.pid {
			return s.poolerError("a lock of process %d is not listed as its own", b.pid)
		}
		if pid := wire.ParseInt(result.Rows[0][1]); pid != b.pid {
			return s.poolerError("process %d answered in the place of process %d", pid, b.pid)
		}
	}
	if pid, ok, err = lockTest(ctx, first, "pg_advisory_unlock", k); err != nil {
		return err
	}
	if !ok || pid != b.pid {
		return s.poolerError("process %d does not have the lock that process %d took", pid, b.pid)
	}
	return nil
}

// lockTest calls one of the advisory lock functions, and tells which process did it.
func lockTest(ctx context.Context, conn connect.Conn, function string, k int64) (pid int64, ok bool, err error) {
	result := conn.PgConn().ExecParams(ctx, "select "+function+"($1), pg_backend_pid()", [][]byte{wire.Int8(k)}, nil, inBinary, inBinary).Read()
	if result.Err != nil {
		return 0, false, result.Err
	}
	return wire.ParseInt(result.Rows[0][1]), wire.ParseBool(result.Rows[0][0]), nil
}
