package pglock_test

import (
	"bufio"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
)

// TestNamesOfExistingKeys are what the command takes too.
func TestNamesOfExistingKeys(t *testing.T) {
	for want, got := range map[string]string{
		"pgkey:1001,42":                pglock.Key(1001, 42),
		"pgkey:-2147483648,2147483647": pglock.Key(math.MinInt32, math.MaxInt32),
		"pgkey:42":                     pglock.RawKey(42),
		"pgkey:-9223372036854775808":   pglock.RawKey(math.MinInt64),
	} {
		if got != want {
			t.Errorf("the name is %q, want %q", got, want)
		}
	}
}

// TestH43SQLComputesTheSameKeys, with the formula of the documentation.
func TestH43SQLComputesTheSameKeys(t *testing.T) {
	golden, err := os.ReadFile("internal/key/testdata/golden.tsv")
	must(t, err)
	var query, want []string
	for line := range strings.Lines(string(golden)) {
		number, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		query = append(query, "('"+strings.ReplaceAll(name, "'", "''")+"')")
		want = append(want, number)
	}
	got := pglock.SharedServer.SQL(t, "",
		"select ('x' || left(encode(sha256(convert_to(name, 'UTF8')), 'hex'), 16))::bit(64)::bigint from (values "+strings.Join(query, ", ")+") v (name)")
	if got != strings.Join(want, "\n") {
		t.Errorf("psql has computed\n%s\nand golden.tsv is\n%s", got, golden)
	}
}

// TestPsqlExcludesUs with pg_advisory_lock(1001, 42), and we exclude it.
func TestPsqlExcludesUs(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	psql := startPsql(t, database)
	conn := connect(t, database)

	if got := psql.ask("select 'locked' from pg_advisory_lock(1001, 42);"); got != "locked" {
		t.Fatalf("psql says %q", got)
	}
	tx := begin(t, conn, "")
	err := pglock.TryLockTx(t.Context(), tx, pglock.Key(1001, 42))
	isErr(t, err, tenure.ErrHeld)
	must(t, pglock.TryLockTx(t.Context(), tx, pglock.Key(42, 1001)))
	if got := psql.ask("select pg_advisory_unlock(1001, 42);"); got != "t" {
		t.Fatalf("psql says %q", got)
	}
	must(t, pglock.TryLockTx(t.Context(), tx, pglock.Key(1001, 42)))
	if got := psql.ask("select pg_try_advisory_lock(1001, 42);"); got != "f" {
		t.Errorf("psql says %q while we hold it", got)
	}
	must(t, tx.Commit(t.Context()))
	if got := psql.ask("select pg_try_advisory_lock(1001, 42);"); got != "t" {
		t.Errorf("psql says %q after our commit", got)
	}
}

// psql is one that runs, with one session.
type psql struct {
	t    *testing.T
	to   io.Writer
	from *bufio.Reader
}

func startPsql(t *testing.T, url string) *psql {
	command := exec.Command("psql", "-XAtq", url)
	to, err := command.StdinPipe()
	must(t, err)
	from, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	t.Cleanup(func() {
		to.Close()
		if err := command.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &psql{t, to, bufio.NewReader(from)}
}

// ask gives the one line that psql answers.
func (p *psql) ask(query string) string {
	p.t.Helper()
	_, err := io.WriteString(p.to, query+"\n")
	must(p.t, err)
	line, err := p.from.ReadString('\n')
	must(p.t, err)
	return strings.TrimSuffix(line, "\n")
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	must(t, err)
	return connectWith(t, config)
}
