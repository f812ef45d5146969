package servers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
)

// prepareForTest makes a server without a cluster that is removed when the test ends.
func prepareForTest(t testing.TB, options PostgresOptions) *Postgres {
	t.Helper()
	p, err := preparePostgres(options)
	if err != nil {
		t.Fatal(err)
	}
	p.closeAfter(t)
	return p
}

// Copy copies the data of a server that does not run, shut down or crashed, to one with a port of its own, which Start
// starts: what a backup of the disk is.
func (p *Postgres) Copy(t testing.TB) *Postgres {
	t.Helper()
	if p.PID() != 0 {
		t.Fatal("copy of a server that runs: stop or kill it first")
	}
	c := prepareForTest(t, p.options)
	c.primary, c.standbyName = p.primary, p.standbyName
	if err := copyTree(c.data(), p.data(), c.account); err != nil {
		t.Fatal(err)
	}
	// A crash leaves its lock, which names the original's process and shared memory.
	if err := os.Remove(c.lockPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := c.choosePort(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Dump gives what pg_dump with these flags prints of a database.
func (p *Postgres) Dump(t testing.TB, database string, flags ...string) []byte {
	t.Helper()
	dump, err := p.tool("pg_dump", nil, append(flags, "-d", p.URL(database))...)
	if err != nil {
		t.Fatal(err)
	}
	return dump
}

// Restore puts a dump, plain or of pg_dump's custom format, into a database that exists. Any error is fatal.
func (p *Postgres) Restore(t testing.TB, database string, dump []byte) {
	t.Helper()
	program, flags := "psql", []string{"-Xq", "-o", os.DevNull, "-v", "ON_ERROR_STOP=1"}
	if bytes.HasPrefix(dump, []byte("PGDMP")) {
		program, flags = "pg_restore", []string{"--exit-on-error"}
	}
	if _, err := p.tool(program, bytes.NewReader(dump), append(flags, "-d", p.URL(database))...); err != nil {
		t.Fatal(err)
	}
}

// Upgrade moves the data of a server that was shut down to a fresh one with pg_upgrade, and starts that. There is one
// version here, so it is an upgrade to the same one, which treats the data no differently.
func (p *Postgres) Upgrade(t testing.TB) *Postgres {
	t.Helper()
	if p.PID() != 0 {
		t.Fatal("upgrade of a server that runs: stop it first")
	}
	u := prepareForTest(t, p.options)
	if err := errors.Join(u.unpackTemplate(), u.choosePort()); err != nil {
		t.Fatal(err)
	}
	upgrade := u.Program("pg_upgrade", "-b", p.bin, "-B", u.bin, "-d", p.data(), "-D", u.data(), "-U", "postgres",
		// It starts both servers without TCP: the ports only name their sockets.
		"-s", u.dir, "-p", fmt.Sprint(p.port), "-P", fmt.Sprint(u.port))
	upgrade.Dir = u.dir
	u.account.run(upgrade)
	if said, err := run(upgrade, nil); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if err := u.startAnywhere(); err != nil {
		t.Fatal(err)
	}
	return u
}
