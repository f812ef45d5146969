package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// PgBouncerOptions say how a pooler differs from one that is made for tests.
type PgBouncerOptions struct {
	PoolMode string            // session, transaction or statement; session if empty
	Settings map[string]string // lines of the section [pgbouncer]; they win over everything else
}

// PgBouncer is a connection pooler that this process has started, in front of every database of a server.
type PgBouncer struct {
	server
	program string
	to      *Postgres
	options PgBouncerOptions
}

// StartPgBouncer starts a pooler in front of a server for one test, and stops it when the test ends. Its clients need no
// password and may be any role of the server.
func StartPgBouncer(t testing.TB, to *Postgres, options PgBouncerOptions) *PgBouncer {
	t.Helper()
	program, err := findPgBouncer()
	if err != nil {
		t.Fatal(err)
	}
	options.Settings = maps.Clone(options.Settings)
	b := &PgBouncer{program: program, to: to, options: options}
	b.server = server{
		name:      "pgbouncer",
		onDeath:   syscall.SIGTERM, // ends at once, with all its connections; newer versions wait for clients on SIGINT only
		configure: b.configure,
		command:   func() *exec.Cmd { return exec.Command(b.program, b.file("pgbouncer.ini")) },
		// Its own console answers even when the server behind does not.
		probe: func(ctx context.Context) error { return probePostgres(ctx, b.Address(), "pgbouncer") },
	}
	if err := b.makeFolder(); err != nil {
		t.Fatal(err)
	}
	b.closeAfter(t)
	if err := b.startAnywhere(); err != nil {
		t.Fatal(err)
	}
	return b
}

// findPgBouncer looks where Debian has it too, which is on the PATH of root alone.
func findPgBouncer() (string, error) {
	program, err := exec.LookPath("pgbouncer")
	if err == nil {
		return program, nil
	}
	if program, err := exec.LookPath("/usr/sbin/pgbouncer"); err == nil {
		return program, nil
	}
	return "", fmt.Errorf("PgBouncer is missing, run scripts/install: %w", err)
}

func (b *PgBouncer) file(name string) string { return filepath.Join(b.dir, name) }

func (b *PgBouncer) configure() error {
	settings := map[string]string{
		"listen_addr":     "127.0.0.1",
		"listen_port":     fmt.Sprint(b.port),
		"unix_socket_dir": "",
		"auth_type":       "trust",
		"auth_file":       b.file("users"),
		"auth_user":       "postgres", // asks the server for roles that the file does not name
		"admin_users":     "postgres",
		"pool_mode":       "session",
		"max_client_conn": "1000",
	}
	if b.options.PoolMode != "" {
		settings["pool_mode"] = b.options.PoolMode
	}
	maps.Copy(settings, b.options.Settings)
	var lines strings.Builder
	fmt.Fprintf(&lines, "[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\n", b.to.port)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&lines, "%s = %s\n", name, settings[name])
	}
	return errors.Join(b.write(b.file("users"), `"postgres" ""`+"\n"), b.write(b.file("pgbouncer.ini"), lines.String()))
}

// URL leads through the pooler to a database, named or by the URL that its server has for it. The database "pgbouncer" is
// the pooler's console.
func (b *PgBouncer) URL(database string) string {
	direct, err := url.Parse(b.to.URL(database))
	if err != nil {
		return err.Error() // no URL of ours: whoever dials it is told
	}
	direct.Host = b.Address()
	return direct.String()
}

// Stop ends the pooler and all its connections. Start starts it again.
func (b *PgBouncer) Stop() error { return b.stop(b.onDeath) }
