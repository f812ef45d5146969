package netfault_test

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/netfault"
	"github.com/tenurelock/tenure/internal/servers"
)

// TestBeforePostgres: a commit whose answer gets lost has happened, and its client cannot know.
func TestBeforePostgres(t *testing.T) {
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	proxy := netfault.New(t, server.Address())
	through := strings.Replace(server.Database(t), server.Address(), proxy.Address(), 1)
	direct := strings.Replace(through, proxy.Address(), server.Address(), 1)
	server.SQL(t, through, "create table t (n int)")
	before := proxy.RoundTrips()
	server.SQL(t, through, "insert into t values (1); select 1;\nselect 2;\nselect 3")
	// Log in, then four statements, then farewell, which may be on its way yet: psql waits for no answer to it.
	trips := proxy.RoundTrips() - before
	for end := time.Now().Add(10 * time.Second); trips < 6 && time.Now().Before(end); trips = proxy.RoundTrips() - before {
		time.Sleep(time.Millisecond)
	}
	if trips != 6 {
		t.Errorf("%d round trips", trips)
	}

	psql := server.Program("psql", "-XAtq", through)
	input, err := psql.StdinPipe()
	must(t, err)
	output, err := psql.StdoutPipe()
	must(t, err)
	must(t, psql.Start())
	_, err = io.WriteString(input, "select 'connected';\n")
	must(t, err)
	_, err = bufio.NewReader(output).ReadString('\n')
	must(t, err)
	lost := proxy.LoseAnswers()
	_, err = io.WriteString(input, "insert into t values (2);\n")
	must(t, err)
	<-lost
	proxy.Cut()
	must(t, input.Close())
	if err := psql.Wait(); err == nil {
		t.Error("the client was answered")
	}
	if got := server.SQL(t, direct, "select string_agg(n::text, ' ') from t"); got != "1 2" {
		t.Errorf("in the table are %s", got)
	}
}
