package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/connect"
)

// settle sets what a lock's connection needs, whatever the role's, the database's or the URL's own settings are: those would
// kill or mislead waiters (H28). It is done by SET after the check for poolers, since PgBouncer refuses startup parameters
// that it does not know.
func (s *Store) settle(ctx context.Context, conn connect.Conn, name string, extra bool) error {
	version, err := serverVersion(conn.Conn)
	if err != nil {
		return err
	}
	return set(ctx, conn, s.settings(version, name, extra))
}

// patient is what a connection needs to set the schema and the numbering up: no timeout of a role's, which could end the wait
// for a synchronous standby (H80).
func patient(ctx context.Context, conn connect.Conn) error {
	settings := [][2]string{{"statement_timeout", "0"}, {"lock_timeout", "0"}, {"idle_session_timeout", "0"}}
	version, err := serverVersion(conn.Conn)
	if err != nil {
		return err
	}
	if version >= 170000 {
		settings = append(settings, [2]string{"transaction_timeout", "0"})
	}
	return set(ctx, conn, settings)
}

// writable has a role's transactions write, and see what others have committed. That a database is read-only is known by then.
func writable(ctx context.Context, conn connect.Conn) error {
	return set(ctx, conn, [][2]string{
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_deferrable", "off"},
	})
}

func set(ctx context.Context, conn connect.Conn, settings [][2]string) error {
	var text strings.Builder
	for _, setting := range settings {
		fmt.Fprintf(&text, "select pg_catalog.set_config('%s', '%s', false);", setting[0], strings.ReplaceAll(setting[1], "'", "''"))
	}
	results := conn.PgConn().Exec(ctx, text.String())
	if _, err := results.ReadAll(); err != nil {
		return fmt.Errorf("set what a lock's connection needs: %w", err)
	}
	return nil
}

func (s *Store) settings(version int, name string, extra bool) [][2]string {
	ttl := milliseconds(s.ttl)
	settings := [][2]string{
		{"application_name", name},
		// The connection is the lease: a stalled process loses its locks a TTL after its last word.
		{"idle_session_timeout", ttl},
		{"idle_in_transaction_session_timeout", ttl},
		// None of them shorter than the TTL, or a lease that is trusted would end early (H71).
		{"tcp_keepalives_idle", seconds(min(s.ttl, maxIdle))},
		{"tcp_keepalives_interval", seconds(s.ttl / 3)},
		{"tcp_keepalives_count", "3"},
		{"tcp_user_timeout", milliseconds(2 * s.ttl)},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_deferrable", "off"},
		{"synchronous_commit", "off"}, // what must last says so itself
		{"search_path", "pg_catalog"},
		{"client_min_messages", "error"},
		{"plan_cache_mode", "force_generic_plan"},
		{"jit", "off"},
	}
	if extra && version >= 170000 {
		settings = append(settings, [2]string{"transaction_timeout", "0"}) // a wait is a transaction
	}
	if extra {
		return append(settings, [][2]string{
			// A waiter whose connection was closed leaves the queue, instead of being granted the lock. The main line never
			// waits, and looking costs it a twentieth of its speed.
			{"client_connection_check_interval", milliseconds(min(s.ttl/3, time.Second))},
			{"statement_timeout", "0"},
			{"lock_timeout", milliseconds(s.opts.Turn)},
		}...)
	}
	settings = append(settings, [][2]string{
		{"statement_timeout", ttl},
		// Nothing on this line waits for locks but by mischance, and everybody waits behind it.
		{"lock_timeout", milliseconds(min(s.ttl/6, time.Second))},
	}...)
	if version >= 170000 {
		settings = append(settings, [2]string{"transaction_timeout", ttl})
	}
	return settings
}

// maxIdle is the most that Linux takes; three more intervals come on top of it.
const maxIdle = 32767 * time.Second

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// seconds rounds up: none of them may be too short.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

// serverVersion reads the major version of "17beta1", "15.18 (Debian …)", as in server_version_num.
func serverVersion(conn *pgx.Conn) (int, error) {
	text := conn.PgConn().ParameterStatus("server_version")
	digits := strings.IndexFunc(text+" ", func(r rune) bool { return r < '0' || r > '9' })
	major, err := strconv.Atoi(text[:digits])
	if err != nil {
		return 0, fmt.Errorf("the server says that it is version %q", text)
	}
	return major * 10000, nil
}

// maxApplicationName is what the server keeps of one, in bytes.
const maxApplicationName = 63

// applicationName tells others at once whose session this is: "tenure 30000ms 1f0c9a57.2 4711@web-1 report", where 2 is the
// number of the line in its session. The TTL is what stuck.sql goes by. The server takes printable ASCII only.
func applicationName(ttl time.Duration, session string, line uint64) string {
	self := driver.Self()
	name := fmt.Sprintf("tenure %dms %.8s.%d %d@%s %s", ttl.Milliseconds(), session, line, self.PID, self.Host, self.Program)
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, name)
	return name[:min(len(name), maxApplicationName)]
}

// ParseApplicationName reads what applicationName wrote.
func ParseApplicationName(name string) (driver.Holder, bool) {
	fields := strings.SplitN(name, " ", 5)
	if len(fields) < 4 || fields[0] != "tenure" {
		return driver.Holder{}, false
	}
	pid, host, _ := strings.Cut(fields[3], "@")
	number, err := strconv.Atoi(pid)
	if err != nil {
		return driver.Holder{}, false
	}
	h := driver.Holder{PID: number, Host: host}
	if len(fields) == 5 {
		h.Program = fields[4]
	}
	return h, true
}
