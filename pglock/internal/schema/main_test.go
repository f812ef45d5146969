package schema

import (
	"os"
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock/internal/pgtest"
)

// shared is the server of the tests that break none.
var shared *servers.Postgres

func TestMain(m *testing.M) { os.Exit(pgtest.Main(&shared, servers.PostgresOptions{}, m.Run)) }
