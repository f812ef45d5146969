package rows

import (
	"context"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/locktest"
)

func TestRulesDirect(t *testing.T) {
	t.Parallel()
	conforms(t, database(t, server))
}

func TestRulesThroughPgBouncerInTransactionMode(t *testing.T) {
	t.Parallel()
	bouncer := servers.StartPgBouncer(t, server, servers.PgBouncerOptions{PoolMode: "transaction"})
	conforms(t, bouncer.URL(database(t, server)))
}

func TestRulesThroughPgBouncerInStatementMode(t *testing.T) {
	t.Parallel()
	bouncer := servers.StartPgBouncer(t, server, servers.PgBouncerOptions{PoolMode: "statement"})
	conforms(t, bouncer.URL(database(t, server))+"&default_query_exec_mode=simple_protocol")
}

func conforms(t *testing.T, url string) {
	// In a group, so that the database outlives the rules, which are parallel.
	t.Run("rules", func(t *testing.T) {
		locktest.Run(t, locktest.Harness{
			Open:    func(context.Context) (driver.Store, error) { return reopen(url) },
			TTL:     time.Second,
			Address: url,
			Reopen:  reopen,
			Freed:   6 * time.Second, // the TTL of a killed holder, and a machine with much else to do
			Seeds:   1,
		})
	})
}
