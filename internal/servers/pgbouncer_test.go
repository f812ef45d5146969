package servers_test

import (
	"strings"
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestPgBouncer in each mode, as each role, and again after it was down.
func TestPgBouncer(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	server.SQL(t, "", "create role somebody login")
	for _, mode := range []string{"", "session", "transaction", "statement"} {
		t.Run(mode, func(t *testing.T) {
			bouncer := servers.StartPgBouncer(t, server, servers.PgBouncerOptions{
				PoolMode: mode, Settings: map[string]string{"default_pool_size": "3"},
			})
			database := server.Database(t)
			want := mode
			if want == "" {
				want = "session"
			}
			config := server.SQL(t, bouncer.URL("pgbouncer"), "show config")
			for _, line := range []string{"\npool_mode|" + want + "|", "\ndefault_pool_size|3|"} {
				if !strings.Contains("\n"+config, line) {
					t.Errorf("no %q in the settings:\n%s", line, config)
				}
			}
			expect(t, server, bouncer.URL(database), "select current_user, current_database() like 'test%'", "postgres|t")
			expect(t, server, strings.Replace(bouncer.URL(""), "postgres@", "somebody@", 1), "select current_user", "somebody")

			must(t, bouncer.Stop())
			must(t, bouncer.Start())
			expect(t, server, bouncer.URL(""), "select 1", "1")
		})
	}
}
