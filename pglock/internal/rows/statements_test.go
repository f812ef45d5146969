package rows

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/netfault"
	"github.com/tenurelock/tenure/pglock/internal/schema"
)

// through gives the URL of a database by way of a proxy.
func through(t testing.TB, direct string) (string, *netfault.Proxy) {
	t.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	proxy := netfault.New(t, u.Host)
	u.Host = proxy.Address()
	return u.String(), proxy
}

func TestOneStatementEach(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	s, count := openCounted(t, url)
	other := open(t, url)
	for name, f := range map[string]func(){
		"acquire": func() { s.take(t, "acquire") },
		"refuse":  func() { s.refused(t, "held") },
		"release": func() {},
	} {
		switch name {
		case "refuse":
			other.take(t, "held")
		case "release":
			f = s.take(t, "released").releases
		}
		if n := count.during(f); n != 1 {
			t.Errorf("%s took %d statements", name, n)
		}
	}
	if n := count.connections.Load(); n != 1 {
		t.Errorf("%d connections were opened", n)
	}
}

// TestCallersShareStatements holds up the first of fifty requests until the others have come.
func TestCallersShareStatements(t *testing.T) {
	t.Parallel()
	url, proxy := through(t, database(t, server))
	s, count := openCounted(t, url)
	queued := func(n int) func() bool {
		return func() bool {
			s.combine.mu.Lock()
			defer s.combine.mu.Unlock()
			return len(s.combine.queue) == n
		}
	}
	together := func(name string, each func(i int)) {
		before := count.statements.Load()
		proxy.Drop(true, true)
		done := make(chan struct{}, 50)
		for i := range 50 {
			go func() { each(i); done <- struct{}{} }()
			if i == 0 && !until(prompt, func() bool { return count.statements.Load() == before+1 }) {
				t.Fatal("the first request was not sent at once")
			}
		}
		if !until(prompt, queued(49)) {
			t.Errorf("%s: %d requests queue instead of 49", name, len(s.combine.queue))
		}
		proxy.Heal()
		for range 50 {
			<-done
		}
		if n := count.statements.Load() - before; n != 2 {
			t.Errorf("50 callers that %s took %d statements instead of 2", name, n)
		}
	}
	claims := make([]*claiming, 50)
	together("acquire", func(i int) {
		claims[i] = s.claim(t, fmt.Sprint(i))
		claims[i].grant, claims[i].err = s.Acquire(t.Context(), &claims[i].req)
	})
	for _, c := range claims {
		if c.err != nil {
			t.Fatal(c.err)
		}
	}
	together("renew", func(i int) {
		if _, err := claims[i].renew(time.Minute); err != nil {
			t.Error(err)
		}
	})
	together("release", func(i int) {
		if err := claims[i].release(); err != nil {
			t.Error(err)
		}
	})
}

// TestRenewalsGoTogether: a call with many renewals takes a statement for each 256.
func TestRenewalsGoTogether(t *testing.T) {
	t.Parallel()
	s, count := openCounted(t, database(t, server))
	var batch []driver.Renewal
	for i := range 512 {
		batch = append(batch, driver.Renewal{Ref: driver.Ref{Key: fmt.Sprint(i), Acq: uint64(i + 1)}})
	}
	if n := count.during(func() { s.Renew(t.Context(), batch) }); n != 2 {
		t.Errorf("512 renewals took %d statements", n)
	}
}

func TestEveryQueryExecMode(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			a, b := open(t, url+"&default_query_exec_mode="+mode), open(t, url+"&default_query_exec_mode="+mode)
			held := a.take(t, mode)
			if h := b.refused(t, mode).Holder; h.Session != a.Info().Session || h.Number != held.grant.Number {
				t.Errorf("the refusal names %+v", h)
			}
			waiter := b.claim(t, mode).waits(t.Context())
			if _, err := held.renew(time.Minute); err != nil {
				t.Error(err)
			}
			held.releases()
			if waiter.got(prompt).grant.Number <= held.grant.Number {
				t.Errorf("number %d came after %d", waiter.grant.Number, held.grant.Number)
			}
			waiter.releases()
		})
	}
}

// TestSentIsBeforeTheFirstByte: no answer comes sooner after its proof's sending than the way takes.
func TestSentIsBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	direct := database(t, server)
	url, proxy := through(t, direct)
	s, other := open(t, url), open(t, direct)
	holder := other.take(t, "y")
	const way = 100 * time.Millisecond
	proxy.Delay(way)
	check := func(what string, proof driver.Proof, valid time.Duration) {
		if took := driver.Now().Sub(proof.Sent); took < 2*way || proof.Valid != valid {
			t.Errorf("%s: sent %v before the answer over a way of %v and back, valid for %v", what, took, way, proof.Valid)
		}
	}
	held := s.take(t, "x")
	check("a grant", held.grant.Proof, time.Minute)
	proof, err := held.renew(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	check("a renewal", proof, time.Hour)
	waiter := s.claim(t, "y").waits(t.Context())
	holder.releases()
	check("a grant to a waiter", waiter.got(prompt).grant.Proof, time.Minute)
}

// TestMigrated: what pglock.Migrate makes is what the statements need, twice over.
func TestMigrated(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	for range 2 {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(schema.Migrate(t.Context(), conn), conn.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		s := open(t, url)
		s.take(t, "x").releases()
		if _, err := s.Clean(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestStatementsAreTerse(t *testing.T) {
	t.Parallel()
	s := newStatements()
	for _, sql := range []string{s.acquire, s.renew, s.release, s.inspect, s.clean} {
		if strings.Contains(sql, "--") || strings.Contains(sql, ";") || !strings.HasPrefix(sql, "with") {
			t.Errorf("not one statement without comments:\n%s", sql)
		}
	}
}
