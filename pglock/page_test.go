package pglock_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
)

// The page docs/postgres.md says nothing that does not work.

// TestPageSaysTheGrants that the code gives, and they suffice.
func TestPageSaysTheGrants(t *testing.T) {
	page := postgresPage(t)
	if grants := pglock.Grants("app"); !strings.Contains(page, "```sql\n"+grants+"\n```") {
		t.Errorf("docs/postgres.md does not have\n%s", grants)
	}
	_, restricted := restrictedRole(t, pglock.SharedServer.Database(t))
	for _, mode := range []pglock.Mode{pglock.Sessions, pglock.Rows} {
		err := newLocker(t, openStore(t, restricted, pglock.Options{Mode: mode})).Do(t.Context(), "report/daily",
			func(context.Context, *tenure.Lease) error { return nil })
		must(t, err)
	}
}

// TestPageSaysTheKeys as they are.
func TestPageSaysTheKeys(t *testing.T) {
	golden, err := os.ReadFile("internal/key/testdata/golden.tsv")
	must(t, err)
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `(-?[0-9]+)` \\|$").FindAllStringSubmatch(postgresPage(t), -1)
	if len(rows) < 4 {
		t.Fatalf("the page has %d keys", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(string(golden), row[2]+"\t"+row[1]+"\n") {
			t.Errorf("golden.tsv does not have %s of %s", row[2], row[1])
		}
	}
}

// TestPageSQLRuns: every block of SQL that only reads.
func TestPageSQLRuns(t *testing.T) {
	database := pglock.SharedServer.Database(t)
	openStore(t, database, pglock.Options{})
	blocks := regexp.MustCompile("(?s)```sql\n(select.*?)```").FindAllStringSubmatch(postgresPage(t), -1)
	if len(blocks) < 4 {
		t.Fatalf("the page has %d queries", len(blocks))
	}
	conn := connect(t, database)
	for _, block := range blocks {
		if _, err := conn.Exec(t.Context(), block[1]); err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
	}
}

func postgresPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/postgres.md")
	must(t, err)
	return string(page)
}

// TestPageGoCompiles: every block that uses no other library. A block of statements becomes a function.
func TestPageGoCompiles(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(postgresPage(t), -1)
	var program string
	var functions strings.Builder
	vetted := 0
	for i, block := range blocks {
		text := block[1]
		switch {
		case regexp.MustCompile(`\b(goose|migrate|gorm)\.`).MatchString(text):
			continue
		case strings.HasPrefix(text, "package main\n"):
			program = text
		case strings.HasPrefix(text, "func "):
			functions.WriteString(text)
		default:
			var uses strings.Builder
			for _, declared := range regexp.MustCompile(`(?m)^(\w+)(?:, (\w+))* :=`).FindAllStringSubmatch(text, -1) {
				for _, name := range declared[1:] {
					if name != "" {
						fmt.Fprintf(&uses, "_ = %s\n", name)
					}
				}
			}
			fmt.Fprintf(&functions, "var _ = func(ctx context.Context, url string, locker *tenure.Locker, pool *pgxpool.Pool, db *sql.DB,\n"+
				"config *pgx.ConnConfig, id int64, work func(context.Context) error) error {\nreturn func() error { // block %d\n%s\n%sreturn nil\n}()\n}\n", i, text, &uses)
		}
		vetted++
	}
	if program == "" || vetted < 8 {
		t.Fatalf("the page has %d blocks to compile", vetted)
	}
	vet(t, program)
	vet(t, "package page\n"+imports(functions.String())+functions.String())
}

// imports gives those of the packages that a text uses.
func imports(text string) string {
	known := map[string]string{
		"signal": "os/signal", "sql": "database/sql", "sha256": "crypto/sha256", "binary": "encoding/binary",
		"pgx": "github.com/jackc/pgx/v5", "pgxpool": "github.com/jackc/pgx/v5/pgxpool",
		"tenure": "github.com/tenurelock/tenure", "pglock": "github.com/tenurelock/tenure/pglock", "sqltx": "github.com/tenurelock/tenure/pglock/sqltx",
	}
	for _, name := range []string{"context", "errors", "fmt", "os", "syscall", "time"} {
		known[name] = name
	}
	var found strings.Builder
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(text) {
			fmt.Fprintf(&found, "import %q\n", known[name])
		}
	}
	return found.String()
}

// vet has the compiler and go vet look at a file.
func vet(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.go")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	said, err := exec.Command("go", "vet", "-unreachable=false", file).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s\n%s", err, said, text)
	}
}

// TestPageNamesErrors in the words of the code, by their first words.
func TestPageNamesErrors(t *testing.T) {
	var code strings.Builder
	for _, folder := range []string{"internal/*", ".", ".."} {
		files, err := filepath.Glob(folder + "/*.go")
		must(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			must(t, err)
			code.Write(text)
		}
	}
	// Strings that are joined over lines, and the verbs in them.
	source := regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(code.String(), "")
	for _, words := range []string{
		"a connection pooler is in between", "schema tenure is missing in database", "schema tenure is empty", "lacks rights on schema tenure",
		"which is older than this program", "which this program does not know: upgrade the program", "somebody altered what tokens stand on",
		"is missing, although its migration has run", "the server is a standby", "is read-only", "tokens need version 15",
		"the server's lock table is full", "this session holds or asks for", "which is its bound", "takes its time; is a synchronous standby missing?",
		"it belongs to the session", "the transaction is ", "the session with the server ended", "(another program's lock)",
	} {
		if !strings.Contains(source, words) {
			t.Errorf("no error says %q any more", words)
		}
		if !strings.Contains(postgresPage(t), words) {
			t.Errorf("the page does not say what %q means", words)
		}
	}
}
