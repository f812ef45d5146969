package pglock

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Mode is how a store locks.
type Mode int

const (
	// Sessions: advisory locks of sessions, on connections of the store's own. The fastest, freed by the server as soon as a
	// process dies, and first-in-first-out; it needs a connection to the server itself, or a pooler of whole sessions.
	Sessions Mode = iota
	// Rows: lease rows in the table tenure.lease. They work through every pooler, and survive restarts of the server and
	// connections that break; they are freed a TTL after the last renewal, and each grant is a durable write.
	Rows
)

// String gives "sessions" or "rows".
func (m Mode) String() string {
	if m == Rows {
		return "rows"
	}
	return "sessions"
}

// Options are those of Open and New. Zero is the default.
type Options struct {
	// Mode is how the store locks. Default: Sessions.
	Mode Mode
	// TTL is how long the server keeps what a stalled process holds. Of Sessions it is the sessions' idle_session_timeout,
	// so no Locker over the store can have another; of Rows it is the default of a Locker's TTL. Default 30 s, at least 100 ms.
	TTL time.Duration
	// BeforeConnect, if set, may change the configuration for each new connection, such as a password that rotates. It is
	// the hook of the same name of a pgxpool.Config.
	BeforeConnect func(context.Context, *pgx.ConnConfig) error

	// Keep is for how long rows of the schema stay that nobody uses: names, lease rows. They go by and by, in batches; a
	// lease row that comes back is numbered above the clock. In whole days; default 30 days, negative: for ever.
	Keep time.Duration

	// The rest is for Sessions.

	// SessionPooler says that a pooler is in between which keeps one server session for each client connection for as long
	// as that lasts, such as PgBouncer with pool_mode = session. Without it every pooler is refused. One that shares server
	// sessions is refused all the same, as far as a test of its behaviour finds out.
	SessionPooler bool
	// Waits is how many busy names are waited for in the server's own queue at once, each on a connection of its own;
	// further names are tried with pauses. Default 8. Negative: none, all waits are by trying, as for a CREATE INDEX
	// CONCURRENTLY under a lock, for which a blocked pg_advisory_lock is in the way.
	Waits int
	// Waited is how many connections may at once be waiting, or hold the lock for which they waited. Default 32.
	Waited int
	// MaxLocks is how many locks the store holds or asks for at most. The server has one table for the locks of all its
	// sessions; once it is full, nobody can even connect (some 12,000 with the server's defaults). Default 5,000.
	MaxLocks int
}

const (
	// DefaultTTL is that of Options.
	DefaultTTL = 30 * time.Second
	minTTL     = 100 * time.Millisecond
	// longestWait is how long one wait stays in the server's queue: meanwhile VACUUM removes no rows of the whole database
	// that died since it began.
	longestWait = time.Minute
)

func (o Options) complete() (Options, error) {
	switch {
	case o.Mode != Sessions && o.Mode != Rows:
		return o, fmt.Errorf("pglock: Options.Mode %d; Sessions or Rows is right", o.Mode)
	case o.TTL == 0:
		o.TTL = DefaultTTL
	case o.TTL < minTTL:
		return o, fmt.Errorf("pglock: Options.TTL %v; at least %v is needed, and %v is usual", o.TTL, minTTL, DefaultTTL)
	}
	if o.TTL > maxTTL {
		return o, fmt.Errorf("pglock: Options.TTL %v; at most %v is possible, and %v is usual", o.TTL, maxTTL, DefaultTTL)
	}
	switch {
	case o.Waits == 0:
		o.Waits = 8
	case o.Waits < 0:
		o.Waits = 0
	}
	switch {
	case o.Keep == 0:
		o.Keep = defaultKeep
	case o.Keep > 0 && o.Keep < day:
		return o, fmt.Errorf("pglock: Options.Keep %v; at least a day is needed, and %v is usual", o.Keep, defaultKeep)
	}
	if o.Waited <= 0 {
		o.Waited = 32
	}
	if o.MaxLocks <= 0 {
		o.MaxLocks = 5000
	}
	return o, nil
}

const (
	day         = 24 * time.Hour
	defaultKeep = 30 * day
)

func (o Options) keepDays() int { return int(o.Keep / day) }

// maxTTL keeps all timeouts of the server within their type, milliseconds in 31 bits.
const maxTTL = 24 * time.Hour
