package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestManyMigrateAtOnce: an empty database, and one at the version before.
func TestManyMigrateAtOnce(t *testing.T) {
	t.Parallel()
	steps, err := migrations()
	must(t, err)
	url := shared.Database(t)
	migrateAtOnce(t, url)
	last := steps[len(steps)-1].version
	shared.SQL(t, url, fmt.Sprintf("drop table tenure.ran; delete from tenure.migration where version = %d", last))
	migrateAtOnce(t, url)
	if got := shared.SQL(t, url, "select count(*) from tenure.migration"); got != fmt.Sprint(len(steps)) {
		t.Errorf("%s of %d migrations have run", got, len(steps))
	}
}

func migrateAtOnce(t *testing.T, url string) {
	t.Helper()
	done := make(chan error, 16)
	for range cap(done) {
		conn := dial(t, url)
		go func() { done <- errors.Join(Migrate(t.Context(), conn), Check(t.Context(), conn)) }()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestScriptIsForPsql, on any version.
func TestScriptIsForPsql(t *testing.T) {
	t.Parallel()
	url := shared.Database(t)
	script, err := Script()
	must(t, err)
	shared.SQL(t, url, script)
	shared.SQL(t, url, script)
	must(t, Check(t.Context(), dial(t, url)))
}

// TestMigratesThroughPoolers that give each statement another server connection.
func TestMigratesThroughPoolers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"transaction", "statement"} {
		url := shared.Database(t)
		pooler := servers.StartPgBouncer(t, shared, servers.PgBouncerOptions{PoolMode: mode})
		conn := dial(t, pooler.URL(url)+"&default_query_exec_mode=simple_protocol")
		must(t, Ensure(t.Context(), conn))
		must(t, Open(t.Context(), conn))
		_, err := Number(t.Context(), conn)
		must(t, err)
		must(t, Check(t.Context(), dial(t, pooler.URL(url)+"&default_query_exec_mode=exec")))
	}
}

// TestMigratesWhateverTheRoleHasSet: what a role sets for its sessions must not reach the schema.
func TestMigratesWhateverTheRoleHasSet(t *testing.T) {
	t.Parallel()
	url := shared.Database(t)
	conn := dial(t, url+"&options=-c%20default_transaction_read_only%3Don%20-c%20default_transaction_isolation%3Dserializable"+
		"%20-c%20search_path%3Dodd")
	shared.SQL(t, url, "create schema odd; create function odd.max(int) returns int language sql as 'select 99'")
	must(t, Ensure(t.Context(), conn))
}

// TestNewerSchemaIsRefused, by Check and by Migrate.
func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	conn := dial(t, url)
	shared.SQL(t, url, "insert into tenure.migration (version) values (99)")
	for _, err := range []error{Check(t.Context(), conn), Migrate(t.Context(), conn), Ensure(t.Context(), conn)} {
		expectRefusal(t, err, Newer, "version 99", "")
	}
}

// TestEveryObjectIsCovered by what Grants gives, or kept from roles on purpose.
func TestEveryObjectIsCovered(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	there := strings.Split(shared.SQL(t, url, `
		select relname from pg_class where relnamespace = 'tenure'::regnamespace and relkind in ('r', 'v', 'S')
		union all
		select proname from pg_proc where pronamespace = 'tenure'::regnamespace`), "\n")
	known := withheld()
	for _, r := range rights() {
		known = append(known, r.name)
	}
	slices.Sort(there)
	slices.Sort(known)
	if !slices.Equal(there, known) {
		t.Errorf("the schema has %v, and rights and withheld know %v", there, known)
	}
	if free := shared.SQL(t, url, `
		select proname from pg_proc where pronamespace = 'tenure'::regnamespace and has_function_privilege('public', oid, 'EXECUTE')`,
	); free != "" {
		t.Errorf("anybody may call %s", free)
	}
}
