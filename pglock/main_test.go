package pglock

import (
	"os"
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock/internal/pgtest"
)

// SharedServer is for all tests of the package. Tests that break a server start their own.
var SharedServer *servers.Postgres

func TestMain(m *testing.M) { os.Exit(pgtest.Main(&SharedServer, servers.PostgresOptions{}, m.Run)) }
