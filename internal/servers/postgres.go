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

// PostgresOptions say how a server differs from one that is made for quick tests.
type PostgresOptions struct {
	// Settings are lines of postgresql.conf. They win over everything else.
	Settings map[string]string
	// Durable servers keep what they have committed when the machine dies, as those of users do. Others skip fsync: a killed
	// server loses nothing by that.
	Durable bool
}

// Postgres is a PostgreSQL server that this process has started, or could start again.
type Postgres struct {
	server
	bin         string // where its version's programs are
	options     PostgresOptions
	standbyName string
	primary     *Postgres // of a standby
}

// StartPostgres starts a server for one test, and stops it when the test ends.
func StartPostgres(t testing.TB, options PostgresOptions) *Postgres {
	t.Helper()
	p, err := NewPostgres(options)
	if err != nil {
		t.Fatal(err)
	}
	p.closeAfter(t)
	return p
}

// NewPostgres starts a server that the tests of a package share; TestMain calls it, and Close at the end.
func NewPostgres(options PostgresOptions) (*Postgres, error) {
	p, err := preparePostgres(options)
	if err != nil {
		return nil, err
	}
	if err := p.unpackTemplate(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if err := p.startAnywhere(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// preparePostgres makes a server without a cluster in its folder.
func preparePostgres(options PostgresOptions) (*Postgres, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	options.Settings = maps.Clone(options.Settings)
	p := &Postgres{bin: bin, options: options}
	p.server = server{
		name: "postgres",
		// An immediate shutdown: unlike a kill it ends the children and frees the shared memory.
		onDeath:   syscall.SIGQUIT,
		configure: p.configure,
		command:   func() *exec.Cmd { return p.Program("postgres", "-D", p.data()) },
		probe:     func(ctx context.Context) error { return probePostgres(ctx, p.Address(), "postgres") },
		cleanup:   p.removeSharedMemory,
	}
	return p, p.makeFolder()
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

// configure writes postgresql.conf.
func (p *Postgres) configure() error {
	settings := map[string]string{
		"listen_addresses":            "127.0.0.1",
		"port":                        fmt.Sprint(p.port),
		"unix_socket_directories":     p.dir,
		"max_connections":             "200",
		"shared_buffers":              "32MB",
		"min_wal_size":                "32MB",
		"max_wal_size":                "128MB",
		"wal_keep_size":               "128MB", // for standbys that are held up
		"wal_retrieve_retry_interval": "100ms",
		"wal_level":                   "replica",
		"max_wal_senders":             "5",
		"autovacuum":                  "on",
		"log_min_messages":            "warning",
		"log_line_prefix":             "%m [%p] %a ",
		// In the data folder, where nothing is left behind by a server that was killed.
		"dynamic_shared_memory_type": "mmap",
		"fsync":                      "off",
		"full_page_writes":           "off",
		"synchronous_commit":         "on", // off would lose commits when the server is killed
	}
	if p.options.Durable {
		settings["fsync"], settings["full_page_writes"] = "on", "on"
	}
	if p.primary != nil {
		settings["primary_conninfo"] = p.primary.conninfo() + " application_name=" + p.standbyName
	}
	maps.Copy(settings, p.options.Settings)
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&lines, "%s = '%s'\n", name, strings.ReplaceAll(settings[name], "'", "''"))
	}
	return p.write(filepath.Join(p.data(), "postgresql.conf"), lines.String())
}

// URL leads to a database, "postgres" if none is named, as a superuser without a password. A URL is given back as it is, so
// that what takes the name of a database takes what Database gives too.
func (p *Postgres) URL(database string) string {
	if strings.HasPrefix(database, "postgres://") {
		return database
	}
	if database == "" {
		database = "postgres"
	}
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.Address(), url.PathEscape(database))
}
