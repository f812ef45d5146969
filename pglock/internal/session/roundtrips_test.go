package session

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
)

// TestRoundTrips counts what a call waits for.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	s, other := start(t, url, long), start(t, direct, long)
	s.take(t, "x").releases() // the numbering is open from here on
	other.take(t, "busy")
	took := func(want int64, what string, f func()) {
		t.Helper()
		before := proxy.RoundTrips()
		if f(); proxy.RoundTrips()-before != want {
			t.Errorf("%s: %d round trips instead of %d", what, proxy.RoundTrips()-before, want)
		}
	}
	for range 3 {
		var c, r *caller
		took(1, "acquire", func() { c = s.take(t, "x") })
		c.renews() // with a chore for a lease that is new
		took(1, "renew", c.renews)
		took(2, "a refused try", func() { s.refused(t, "busy") })
		took(1, "release", c.releases)
		took(1, "acquire shared", func() { r = s.take(t, "read", shared) })
		took(1, "abandon", r.abandons)
	}
}

// TestSharedExchanges: callers at one time share messages.
func TestSharedExchanges(t *testing.T) {
	t.Parallel()
	const callers = 50
	url, proxy := through(t, server.Database(t))
	s := start(t, url, long)
	s.take(t, "x").releases()
	proxy.Delay(200 * time.Millisecond)
	before := proxy.RoundTrips()
	var all sync.WaitGroup
	calls := make([]*caller, callers)
	for i := range calls {
		calls[i] = s.caller(t, fmt.Sprint("x", i))
		all.Go(func() {
			calls[i].start(t.Context()).over()
			if calls[i].err != nil {
				t.Errorf("acquire: %v", calls[i].err)
				return
			}
			if err := s.Release(t.Context(), calls[i].req.Ref); err != nil {
				t.Errorf("release: %v", err)
			}
		})
	}
	all.Wait()
	// Two for the first of them, and two for those that came meanwhile; more if some were slow to start.
	if n := proxy.RoundTrips() - before; n > 10 {
		t.Errorf("%d round trips for %d pairs of acquire and release", n, callers)
	}
}

// TestAllocations reports what the fast path allocates.
func TestAllocations(t *testing.T) {
	s := start(t, server.Database(t), long)
	c := s.caller(t, "x")
	n := testing.AllocsPerRun(100, func() {
		c.req.Acq = acqs.Add(1)
		if _, err := s.Acquire(t.Context(), &c.req); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(t.Context(), c.req.Ref); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%v allocations for a pair of acquire and release", n)
	renewals := []driver.Renewal{{Ref: s.take(t, "y").req.Ref}}
	n = testing.AllocsPerRun(100, func() { s.Renew(t.Context(), renewals) })
	t.Logf("%v allocations for a renewal", n)
}

// TestUnlockIsCalled: a lone unlock is a call of the function, for which the server plans nothing; unless a pooler is in
// between, which may know of statements only. The server's log tells them apart.
func TestUnlockIsCalled(t *testing.T) {
	t.Parallel()
	const called, stated = "fastpath function call: \"pg_advisory_unlock\"", "execute unlock: "
	for pooler, want := range map[bool]string{false: called, true: stated} {
		own := servers.StartPostgres(t, servers.PostgresOptions{Settings: map[string]string{"log_statement": "all"}})
		s := start(t, own.Database(t), long, func(o *Options) { o.Pooler = pooler })
		s.take(t, "called").releases()
		until(t, prompt, "an unlock in the log", func() bool { return strings.Contains(own.Log(), want) })
		if both := strings.Contains(own.Log(), called) && strings.Contains(own.Log(), stated); both {
			t.Errorf("pooler %v: the log has both kinds of unlocks", pooler)
		}
	}
}
