package session

import (
	"context"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// renumberings are what an administrator may do to the numbering of grants under open sessions.
var renumberings = map[string]func(t *testing.T, v *view, url string) (again func()){
	"the sequence is made anew": func(_ *testing.T, v *view, _ string) func() {
		return func() {
			v.do("drop sequence tenure.grants; create unlogged sequence tenure.grants as bigint cache 1 no cycle")
		}
	},
	"a dump is restored": func(t *testing.T, _ *view, url string) func() {
		dump := server.Dump(t, url, "--clean", "--if-exists")
		return func() { server.Restore(t, url, dump) }
	},
}

// TestRenumbered: when the numbering is another one, the next grants have higher numbers all the same, whatever asks for
// them, and what is held stays.
func TestRenumbered(t *testing.T) {
	t.Parallel()
	for name, prepare := range renumberings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := server.Database(t)
			url, proxy := through(t, direct)
			v, s, other := look(t, direct), start(t, url, long), start(t, direct, long)
			s.take(t, "x").releases()
			again := prepare(t, v, direct)
			var last int64
			rises := func(c *caller) *caller {
				t.Helper()
				if c.grant.Number <= last {
					t.Errorf("%q: number %d came after %d", c.req.Name, c.grant.Number, last)
				}
				last = max(last, c.grant.Number)
				return c
			}
			kept, read := rises(s.take(t, "kept")), rises(s.take(t, "read", shared))
			pid := s.pid(t)
			slots := func(r *driver.Request) {
				for _, name := range []string{"slot 1", "slot 2"} {
					k, err := s.Key(name)
					if err != nil {
						t.Fatal(err)
					}
					r.Slots = append(r.Slots, driver.Slot{Name: name, Key: k})
				}
			}
			for _, changes := range [][]func(*driver.Request){nil, {shared}, {slots}} {
				again()
				rises(s.take(t, "y", changes...)).releases()
				rises(other.take(t, "y", changes...)).releases() // whose numbers were of the one before
			}
			// Several in one exchange.
			again()
			calls := []*caller{s.caller(t, "a"), s.caller(t, "b"), s.caller(t, "c", shared)}
			s.together(t, proxy, calls...)
			seen := make(map[int64]bool)
			for _, c := range calls {
				if c.err != nil || c.grant.Number <= last || seen[c.grant.Number] {
					t.Errorf("%q beside others: number %d came after %d, %v", c.req.Name, c.grant.Number, last, c.err)
				}
				seen[c.grant.Number] = true
			}
			for _, c := range calls {
				last = max(last, c.grant.Number)
				c.releases()
			}
			kept.keeps()
			read.keeps()
			v.agrees(s)
			if n := v.advisory(); n != 2 {
				t.Errorf("%d locks are there instead of the two that are held", n)
			}
			if s.pid(t) != pid {
				t.Error("the session has another backend now")
			}
		})
	}
}

// TestRenumberedWait: a wait that began under another numbering is granted under the new one, and others that begin in it too.
func TestRenumberedWait(t *testing.T) {
	t.Parallel()
	for name, prepare := range renumberings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := server.Database(t)
			v, s, other := look(t, url), start(t, url, long), start(t, url, long)
			s.take(t, "x").releases()
			again := prepare(t, v, url)
			for _, changes := range [][]func(*driver.Request){nil, {shared}} {
				h := other.take(t, "x")
				w := s.caller(t, "x", changes...).waits(t.Context())
				again()
				h.releases()
				if w.got(prompt); w.grant.Number <= h.grant.Number {
					t.Errorf("number %d came after %d", w.grant.Number, h.grant.Number)
				}
				other.refused(t, "x")
				w.keeps()
				// One that begins on that line later.
				next := other.caller(t, "x").waits(t.Context())
				w.releases()
				if next.got(prompt); next.grant.Number <= w.grant.Number {
					t.Errorf("number %d came after %d", next.grant.Number, w.grant.Number)
				}
				next.releases()
			}
			v.agrees(s)
			v.agrees(other)
			until(t, prompt, "no lock is left", func() bool { return v.advisory() == 0 })
		})
	}
}

// lower has the ceiling stand so far above what was drawn, as if almost all of the span had been used.
func lower(v *view, left int) {
	v.do("begin; alter sequence tenure.grants owned by none")
	v.do("set tenure.changing = true")
	v.count("with c as (update tenure.ceiling set high = (select last_value + $1 from tenure.grants) returning 1) select count(*) from c", left)
	v.do("commit")
}

func (v *view) ceiling() int64 {
	v.t.Helper()
	return int64(v.count("select high from tenure.ceiling"))
}

// countRaises has the database count how often the ceiling changes from here on.
func countRaises(v *view) (raises func() int) {
	v.do("create table public.raises (n int); create function public.raised() returns trigger language plpgsql as " +
		"$$ begin insert into public.raises values (1); return null; end $$; " +
		"create trigger raised after update on tenure.ceiling for each row execute function public.raised()")
	return func() int { return v.count("select count(*) from public.raises") }
}

// TestCeilingRisesAhead of need, beside the acquisitions: while it cannot rise, those go on, up to it and no further.
func TestCeilingRisesAhead(t *testing.T) {
	t.Parallel()
	const left = 200
	url := server.Database(t)
	v, rival := look(t, url), look(t, url)
	start(t, url, long).take(t, "x").releases() // the numbering is open from here on
	lower(v, left)
	high := v.ceiling()
	s, other := start(t, url, long), start(t, url, long)     // they know of this ceiling
	rival.do("begin; select from tenure.ceiling for update") // nobody can raise it
	var last int64
	turn := func(s *Store, within context.Context) error {
		c := s.caller(t, "x").start(within).ends(prompt)
		if c.err != nil {
			c.abandons()
			return c.err
		}
		if c.grant.Number <= last || c.grant.Number > high {
			t.Errorf("number %d came after %d, with a ceiling of %d", c.grant.Number, last, high)
		}
		last = c.grant.Number
		c.releases()
		return nil
	}
	began := time.Now()
	for i := range left / 4 {
		if took := time.Since(began); took > prompt {
			t.Fatalf("%d acquisitions below the ceiling took %v: they wait for its raise", 2*i, took)
		}
		for _, s := range []*Store{s, other} {
			if err := turn(s, t.Context()); err != nil {
				t.Fatalf("acquisition %d below the ceiling, while that cannot be raised, said: %v", i, err)
			}
		}
	}
	above := error(nil)
	for range 2 * left {
		if above = turn(s, t.Context()); above != nil {
			break
		}
	}
	if above == nil {
		t.Errorf("numbers are drawn above the ceiling of %d without end: the last was %d", high, last)
	}
	if kind := kindOf(above); kind == "lasting" || kind == "held" {
		t.Errorf("an acquisition above the ceiling said %s: %v", kind, above)
	}
	rival.do("rollback")
	until(t, prompt, "locks are granted again", func() bool {
		high = 1 << 62
		return turn(other, t.Context()) == nil
	})
	if now := v.ceiling(); last > now {
		t.Errorf("number %d was handed out with a ceiling of %d", last, now)
	}
	v.agrees(s)
	v.agrees(other)
}

// TestCeilingRisesOnce: of the sessions that know a ceiling which is near, one raises it, in the background; the others find
// that it has been raised.
func TestCeilingRisesOnce(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v := look(t, url)
	start(t, url, long).take(t, "x").releases()
	lower(v, 1000)
	low := v.ceiling()
	raises := countRaises(v)
	all := []*Store{start(t, url, long), start(t, url, long), start(t, url, long)}
	for i, s := range all {
		l := s.theMainLine(t)
		if l.high.Load() != low {
			t.Fatalf("session %d knows of a ceiling of %d instead of %d: the test proves nothing", i, l.high.Load(), low)
		}
		s.take(t, "x").releases() // once is enough
		until(t, prompt, "the session knows of a higher ceiling", func() bool { return l.high.Load() > low })
		until(t, prompt, "it sees to it no more", func() bool { return !l.raising.Load() })
	}
	for range 20 {
		for _, s := range all {
			s.take(t, "x").releases()
		}
	}
	if n := raises(); n != 1 {
		t.Errorf("the ceiling was raised %d times for %d sessions", n, len(all))
	}
}
