package txlock_test

import (
	"os"
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock/internal/pgtest"
)

var server *servers.Postgres

func TestMain(m *testing.M) { os.Exit(pgtest.Main(&server, servers.PostgresOptions{}, m.Run)) }
