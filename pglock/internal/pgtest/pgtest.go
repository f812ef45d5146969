// Package pgtest runs a package's tests beside a PostgreSQL server that they share.
package pgtest

import (
	"errors"
	"fmt"
	"os"

	"go.uber.org/goleak"

	"github.com/tenurelock/tenure/internal/servers"
)

// Main starts the server for the tests that break none, runs them, and stops it; no goroutine may be left then. It gives the
// status to exit with.
func Main(server **servers.Postgres, opts servers.PostgresOptions, run func() int) int {
	s, err := servers.NewPostgres(opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*server = s
	code := run()
	if err := errors.Join(s.Close(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}
