package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenurelock/tenure/driver"
)

// TestTidyWaitsForNobody: rows that somebody has locked are left to the next time, and those beside them are removed.
func TestTidyWaitsForNobody(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, rival := look(t, url), look(t, url)
	if err := start(t, url, long).Close(t.Context()); err != nil { // the tables are there, and it tidies no more
		t.Fatal(err)
	}
	names := "select count(*) from tenure.name where name in ('locked', 'free')"
	leases := "select count(*) from tenure.holding where session in ('locked', 'free')"
	leave := func() {
		v.do("insert into tenure.name (key, name, used) values (1, 'locked', current_date - 1000), (2, 'free', current_date - 1000) " +
			"on conflict do nothing")
		for _, session := range []string{"locked", "free"} { // of a backend that is gone
			v.do("insert into tenure.holding (session, acq, backend, class, object, form, shared, name, number, since) " +
				"values ('" + session + "', 1, 0, 0, 0, 1, false, 'x', 1, now()) on conflict do nothing")
		}
	}
	leave()
	rival.do("begin; select from tenure.name where name = 'locked' for update; select from tenure.holding where session = 'locked' for update")
	tidied := func() bool { return v.count(names) == 1 && v.count(leases) == 1 }
	// By a session that opens, which nobody holds up.
	s := start(t, url, long)
	s.take(t, "x").releases()
	until(t, prompt, "what is not locked is removed", tidied)
	// By statement, where a wait would show as an error.
	leave()
	if err := s.query(t.Context(), "sweep", nil, nil); err != nil {
		t.Errorf("the list of leases could not be tidied: %v", err)
	}
	if err := s.query(t.Context(), "tidy_names", [][]byte{{0, 0, 0, 0, 0, 0, 0, 30}}, nil); err != nil {
		t.Errorf("the names could not be tidied: %v", err)
	}
	if !tidied() {
		t.Errorf("%d names and %d leases are left instead of those that are locked", v.count(names), v.count(leases))
	}
	rival.do("rollback")
	s.tidy(t.Context(), s.theMainLine(t))
	if v.count(names)+v.count(leases) != 0 {
		t.Errorf("%d names and %d leases are left", v.count(names), v.count(leases))
	}
}

// TestRunsOfTheFuture: a run that a clock which once ran far ahead has noted refuses nobody for longer than a run of a clock
// that was right: until its period, or the gap after it, is over. One that a clock set back leaves behind does count.
func TestRunsOfTheFuture(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s := look(t, url), start(t, url, long)
	oncePer := func(r *driver.Request) { r.OncePer = time.Hour }
	gap := func(r *driver.Request) { r.Gap = time.Hour }
	for i, test := range []struct {
		ahead   string
		rule    func(*driver.Request)
		granted bool
	}{
		{"1 year", oncePer, true},
		{"3 hours", oncePer, true},
		{"1 hour", oncePer, false},
		{"1 year", gap, true},
		{"3 hours", gap, true},
		{"30 minutes", gap, false},
		{"1 year", func(r *driver.Request) { oncePer(r); gap(r) }, true},
	} {
		name := fmt.Sprint("job ", i)
		v.do("insert into tenure.ran (name, at) values ('" + name + "', now() + interval '" + test.ahead + "')")
		what := fmt.Sprintf("%d: a run %s ahead", i, test.ahead)
		c := s.caller(t, name, test.rule).start(t.Context()).ends(prompt)
		if (c.err == nil) != test.granted {
			t.Errorf("%s: %v", what, c.err)
			continue
		}
		if !test.granted {
			var done *driver.DoneError
			var held *driver.HeldError
			if !errors.As(c.err, &done) && (!errors.As(c.err, &held) || !held.Gap) {
				t.Errorf("%s refused with: %v", what, c.err)
			}
			continue
		}
		if v.count("select count(*) from tenure.ran where name = $1 and at <= clock_timestamp()", name) != 1 {
			t.Errorf("%s stays, though there was one after it", what)
		}
		c.releases()
		if again := s.caller(t, name, test.rule).start(t.Context()).ends(prompt); again.err == nil {
			t.Errorf("%s: a second run was granted right after the first", what)
		}
	}
	if n := v.advisory(); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}

// TestHostileDescription: whatever a holder says of itself, its lease is listed, and the session lives.
func TestHostileDescription(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s, other := look(t, url), start(t, url, long), start(t, url, long)
	beside := s.take(t, "beside")
	pid := s.pid(t)
	for what, text := range map[string]string{
		"no UTF-8":            "a\xff\xfeb\xc3",
		"NUL":                 "a\x00b",
		"long":                strings.Repeat("x", 100_000),
		"long, cut in a rune": "x" + strings.Repeat("é", 5_000),
	} {
		for name, rule := range map[string]func(*driver.Request){
			"plain " + what: func(*driver.Request) {},
			"once " + what:  func(r *driver.Request) { r.OncePer = time.Hour },
		} {
			c := s.take(t, name, rule, func(r *driver.Request) {
				r.Holder = &driver.Holder{Host: text, PID: 1, Program: text, Note: text}
			})
			c.renews()
			c.renews()
			n := v.count("select count(*) from tenure.holding where name = $1 and octet_length(host) between 1 and 1000 "+
				"and octet_length(program) between 1 and 1000 and octet_length(note) between 1 and 1000", name)
			if n != 1 {
				t.Errorf("%s: a lease is listed %d times", name, n)
			}
			report, err := other.Inspect(t.Context(), name)
			if err != nil || len(report.Holders) != 1 || report.Holders[0].Number != c.grant.Number || !utf8.ValidString(report.Holders[0].Note) {
				t.Errorf("%s: others see %+v, %v", name, report.Holders, err)
			}
			c.keeps()
			c.releases()
		}
	}
	beside.keeps()
	if s.pid(t) != pid {
		t.Error("the session has another backend now")
	}
}

// TestUnlisted: a lease that was listed is off the list when it has been given back, however that came.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s, other := look(t, url), start(t, url, ttl(brief)), start(t, url, long)
	listed := func(c *caller) int {
		return v.count("select count(*) from tenure.holding where session = $1 and acq = $2", s.info.Session, int64(c.req.Acq))
	}
	h := other.take(t, "waited for")
	w := s.caller(t, "waited for").waits(t.Context())
	h.releases()
	callers := []*caller{w.got(prompt), s.take(t, "x"), s.take(t, "y", shared), s.take(t, "z"), s.take(t, "unrenewed")}
	for _, c := range callers {
		c.renews()
		c.renews()
		if listed(c) != 1 {
			t.Fatalf("%q is not listed", c.req.Name)
		}
	}
	for i, c := range callers[:4] {
		if i%2 == 0 {
			c.releases()
		} else {
			c.abandons()
		}
		until(t, prompt, c.req.Name+" is off the list", func() bool { return listed(c) == 0 })
	}
	c, beside := callers[4], s.take(t, "beside")
	until(t, prompt, "what was not renewed is off the list", func() bool {
		beside.renews() // or the server ends the session, and its list stays until somebody tidies
		return listed(c) == 0
	})
	c.loses(prompt)
}

// TestErrorAtTheEndOfATransaction: that no statement failed, but their end, leaves open what the session has. It is closed,
// its leases are lost, and the next ones are another session's.
func TestErrorAtTheEndOfATransaction(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"name", "holding"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			url := server.Database(t)
			v, s, other := look(t, url), start(t, url, long), start(t, url, long)
			// The first heartbeat notes the name, and lists the lease, each in a transaction of its own: one that fails is in
			// the middle of its exchange, the other at the end.
			c, kept := s.take(t, "x"), s.take(t, "kept", shared)
			pid := s.pid(t)
			v.do("create function public.fails() returns trigger language plpgsql as $$ begin raise exception 'not so'; end $$; " +
				"create constraint trigger fails after insert on tenure." + table + " deferrable initially deferred for each row execute function public.fails()")
			if err := c.renew(); err == nil {
				t.Error("a lease was proved by an exchange that failed at its end")
			}
			c.loses(prompt)
			kept.loses(prompt)
			if err := kept.renew(); err == nil {
				t.Error("a lease was proved that was lost")
			}
			v.do("drop trigger fails on tenure." + table)
			for _, name := range []string{"x", "kept"} {
				s.takeSoon(t, prompt, name).keeps()
				other.refused(t, name)
			}
			if s.pid(t) == pid {
				t.Error("the session goes on")
			}
			if c.losses.Load() != 1 || kept.losses.Load() != 1 {
				t.Errorf("they heard of their losses %d and %d times", c.losses.Load(), kept.losses.Load())
			}
			v.agrees(s)
		})
	}
}
