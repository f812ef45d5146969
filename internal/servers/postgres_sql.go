package servers

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// SQL runs statements, each in a transaction of its own, with psql -XAtq, and gives what it prints: a line a row,
// fields between bars, no end of line after the last.
func (p *Postgres) SQL(t testing.TB, database, sql string) string {
	t.Helper()
	said, err := p.sql(database, sql)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func (p *Postgres) sql(database, sql string) (string, error) {
	said, err := p.tool("psql", strings.NewReader(sql), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", p.URL(database))
	if err != nil {
		return "", fmt.Errorf("%w\nof: %s", err, sql)
	}
	return strings.TrimSuffix(string(said), "\n"), nil
}

// tool runs one of PostgreSQL's client programs and gives what it prints.
func (p *Postgres) tool(name string, input io.Reader, arguments ...string) ([]byte, error) {
	return run(p.Program(name, arguments...), input)
}

// Program is a client of the server's version, such as psql or pgbench, to be run.
func (p *Postgres) Program(name string, arguments ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(p.bin, name), arguments...)
	command.Env = cleanEnviron()
	return command
}

func run(command *exec.Cmd, input io.Reader) ([]byte, error) {
	var out, complaint bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = input, &out, &complaint
	if err := command.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w: %s", filepath.Base(command.Path), err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out.Bytes(), nil
}

// until asks every 20 ms until the answer is the one that is wanted.
func (p *Postgres) until(ctx context.Context, sql, want string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		got, err := p.sql("", sql)
		if err == nil && got == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s gives %q instead of %q: %w", sql, got, want, errors.Join(ctx.Err(), err))
		case <-tick.C:
		}
	}
}

// Database makes an empty database for one test and gives its URL. It is dropped when the test ends, if the server still
// runs then, whoever is connected to it.
func (p *Postgres) Database(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text()[:12])
	p.SQL(t, "", "create database "+name)
	t.Cleanup(func() {
		if p.PID() == 0 {
			return
		}
		if _, err := p.sql("", "drop database if exists "+name+" with (force)"); err != nil {
			t.Error(err)
		}
	})
	return p.URL(name)
}
