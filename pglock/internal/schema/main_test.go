package schema

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenurelock/tenure/internal/servers"
)

// shared is the server of the tests that break none.
var shared *servers.Postgres

func TestMain(m *testing.M) {
	var err error
	if shared, err = servers.NewPostgres(servers.PostgresOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := shared.Close(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
