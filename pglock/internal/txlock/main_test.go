package txlock_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenurelock/tenure/internal/servers"
)

var server *servers.Postgres

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

// runAll starts the server that all tests of the package share.
func runAll(m *testing.M) (code int) {
	var err error
	if server, err = servers.NewPostgres(servers.PostgresOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if err := errors.Join(server.Close(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
