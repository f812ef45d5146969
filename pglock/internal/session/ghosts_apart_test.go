package session

import (
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// theMainLine is the main line, opened if there is none.
func (s *Store) theMainLine(t testing.TB) *line {
	t.Helper()
	l, err := s.mainLine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lineOf is the line on which an acquisition waits, or holds.
func (c *caller) lineOf() *line {
	c.t.Helper()
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	found := c.s.claims[c.req.Acq]
	if found == nil || found.line == nil {
		c.t.Fatalf("%q is on no line", c.req.Name)
	}
	return found.line
}

// noted gives the ghosts that a session remembers.
func (s *Store) noted() []*ghost {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*ghost(nil), s.ghosts...)
}

// TestGhostOfAReusedPID: a process id is used again. A ghost is ended by its application name too, so that whoever has got
// its process id meanwhile lives on.
func TestGhostOfAReusedPID(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	s, other := start(t, url, long), start(t, url, long)
	kept := other.take(t, "x")
	there := other.theMainLine(t).backend
	for _, name := range []string{"", s.theMainLine(t).backend.name, applicationName(other.ttl, other.info.Session, 99)} {
		acq := acqs.Add(1)
		g := &ghost{
			backend: backend{pid: there.pid, name: name}, acqs: map[uint64]bool{acq: true}, until: driver.Now().Add(time.Minute),
		}
		s.mu.Lock()
		s.noteGhost(g)
		s.mu.Unlock()
		if err := s.layAll(t.Context(), acq); err != nil {
			t.Errorf("a ghost whose process id is another session's is said to be there: %v", err)
		}
		kept.keeps()
		if pid := other.pid(t); pid != there.pid {
			t.Fatalf("a ghost named %q took the session with it that has its process id", name)
		}
	}
	// Under its own name it is ended.
	g := &ghost{backend: there, until: driver.Now().Add(time.Minute)}
	if err := s.lay(t.Context(), g); err != nil {
		t.Error(err)
	}
	kept.loses(prompt)
	if len(s.noted()) != 0 {
		t.Errorf("%d ghosts are remembered", len(s.noted()))
	}
}

// TestGhostIsLaidUnasked: what a session held whose connection broke on this side only is freed as soon as there is another
// connection, though nobody abandons anything: a lease that was lost is its holder's no more, and nobody would.
func TestGhostIsLaidUnasked(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	config, proxy, straight := routes(t, direct)
	s, other := startConfig(t, config, long), start(t, direct, long)
	c := s.take(t, "x")
	defer proxy.Heal()
	proxy.Drop(true, true)
	straight.Store(true)
	s.theMainLine(t).shut()
	c.loses(prompt)
	other.refused(t, "x") // the server does not know
	s.take(t, "y").releases()
	other.takeSoon(t, prompt, "x").releases()
	until(t, prompt, "the ghost is forgotten", func() bool { return len(s.noted()) == 0 })
}

// TestGhostOfAWait is remembered for as long as its wait may last, and be granted at the end of it: for a turn more than that
// of a main line, which never waits.
func TestGhostOfAWait(t *testing.T) {
	t.Parallel()
	const turn, margin = 30 * time.Minute, time.Minute
	direct := server.Database(t)
	for _, waits := range []bool{false, true} {
		s, other := start(t, direct, ttl(time.Minute), turns(turn)), start(t, direct, long)
		var c *caller
		want := 2*s.ttl + ghostSlack
		if waits {
			h := other.take(t, "x")
			c = s.caller(t, "x").waits(t.Context())
			defer h.releases()
			want += turn
		} else {
			c = s.take(t, "y")
		}
		c.lineOf().shut()
		if waits {
			if c.ends(prompt); kindOf(c.err) != "unknown" {
				t.Errorf("a wait whose connection broke said: %v", c.err)
			}
		} else {
			c.loses(prompt)
		}
		now := driver.Now()
		all := s.noted()
		if len(all) != 1 || !all[0].acqs[c.req.Acq] {
			t.Fatalf("waiting %v: %d ghosts are remembered", waits, len(all))
		}
		if left := all[0].until.Sub(now); left > want || left < want-margin {
			t.Errorf("waiting %v: a ghost is remembered for %v instead of %v", waits, left, want)
		}
		c.abandons()
	}
}

// TestCancelledByName: the cancellation of a wait, and the question whether it still waits, mean the backend of that
// application name, and none that has its process id meanwhile.
func TestCancelledByName(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s, other := look(t, url), start(t, url, long), start(t, url, long)
	h := s.take(t, "x")
	w := other.caller(t, "x").waits(t.Context())
	there := w.lineOf().backend
	stranger := backend{pid: there.pid, name: s.theMainLine(t).backend.name}
	found := func(statement string, params [][]byte) (n int) {
		t.Helper()
		if err := s.query(t.Context(), statement, params, func([][]byte) { n++ }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if found("waiting", asked(stranger)) != 0 {
		t.Error("a session is said to wait that only shares its process id with one that does")
	}
	if found("waiting", asked(there)) != 1 {
		t.Error("a session that waits is not found by its name")
	}
	if found("cancel", stranger.params()) != 0 {
		t.Error("the wait of a session is cancelled that shares its process id with another")
	}
	if v.queue("x") != 1 || w.hasEnded() {
		t.Fatalf("the wait has ended: %v", w.err)
	}
	if found("cancel", there.params()) != 1 {
		t.Error("a wait is not cancelled by its name")
	}
	if w.ends(prompt); kindOf(w.err) != "passing" {
		t.Errorf("a wait that was cancelled said: %v", w.err)
	}
	h.releases()
}

// TestTryAsItsSessionEnds: a try that meets the end of its session by the server is made again on the next one, since nothing
// can have come of it.
func TestTryAsItsSessionEnds(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	v, s := look(t, direct), start(t, url, long)
	s.take(t, "x").releases() // the numbering is open from here on
	for i := range 3 {
		pid := s.pid(t)
		proxy.Drop(true, true) // it has not heard of its end when it asks
		_, _, _, before := proxy.Counts()
		v.count("select pg_terminate_backend($1)::int", pid)
		until(t, prompt, "it has ended", func() bool {
			return v.count("select count(*) from pg_stat_activity where pid = $1", pid) == 0
		})
		c := s.caller(t, "x")
		l := s.theMainLine(t)
		c.start(t.Context())
		until(t, prompt, "it is asked", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.flying) > 0 || l.broken != nil
		})
		if _, _, _, now := proxy.Counts(); now != before || c.hasEnded() {
			t.Fatalf("it heard of the end too early: the test proves nothing (round %d)", i)
		}
		proxy.Heal()
		if c.ends(prompt); c.err != nil {
			t.Fatalf("a try that met the end of its session said: %v", c.err)
		}
		c.releases()
	}
	// Without anything in between.
	for range 10 {
		v.count("select pg_terminate_backend($1)::int", s.pid(t))
		s.take(t, "x").releases()
	}
}

// asked are the parameters of waiting.sql for one backend.
func asked(b backend) [][]byte {
	return [][]byte{wire.AppendInt8s(nil, []int64{b.pid}), wire.AppendTexts(nil, []string{b.name})}
}
