package pglock

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenurelock/tenure/internal/servers"
)

// SharedServer is for all tests of the package. Tests that break a server start their own.
var SharedServer *servers.Postgres

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) (code int) {
	var err error
	if SharedServer, err = servers.NewPostgres(servers.PostgresOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if err := errors.Join(SharedServer.Close(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
