package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestH35Bound: a session holds and asks for no more than it may, and says so.
func TestH35Bound(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	s := start(t, url, long, func(o *Options) { o.MaxLocks = 3 })
	held := []*caller{s.take(t, "a"), s.take(t, "b"), s.take(t, "c", shared)}
	for range 3 {
		c := s.caller(t, "d").start(t.Context()).ends(prompt)
		if kindOf(c.err) != "passing" || !strings.Contains(c.err.Error(), "MaxLocks") {
			t.Errorf("a lock beyond the bound said: %v", c.err)
		}
	}
	held[0].releases()
	held[0] = s.take(t, "d")
	for _, c := range held {
		c.keeps()
		c.releases()
	}
}

// TestH35FullTable: the server's own table is full. That is a clear error, nothing of it stays, and nothing is lost.
func TestH35FullTable(t *testing.T) {
	t.Parallel()
	own := servers.StartPostgres(t, servers.PostgresOptions{Settings: map[string]string{
		"max_locks_per_transaction": "10", "max_connections": "20",
	}})
	direct := own.Database(t)
	url, proxy := through(t, direct)
	v, s := look(t, direct), start(t, url, long)
	kept := s.take(t, "kept")
	var full *caller
	var held []*caller
	for n := 0; full == nil; n += 50 { // fifty in a statement, which fails in its middle
		var calls []*caller
		for i := range 50 {
			calls = append(calls, s.caller(t, fmt.Sprint("x", n+i)))
		}
		s.together(t, proxy, calls...)
		for _, c := range calls {
			if c.err == nil {
				held = append(held, c)
			} else {
				full = c
			}
		}
		if n > 5000 {
			t.Fatal("the table does not fill")
		}
	}
	if kindOf(full.err) != "passing" || !strings.Contains(full.err.Error(), "max_locks_per_transaction") {
		t.Errorf("a lock for which there was no room said: %v", full.err)
	}
	if n := v.advisory(); n != len(held)+1 {
		t.Errorf("%d locks are there for %d leases", n, len(held)+1)
	}
	v.agrees(s)
	kept.keeps()
	for _, c := range held {
		c.releases()
	}
	s.take(t, full.req.Name).releases()
	kept.releases()
	if n := v.advisory(); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}
