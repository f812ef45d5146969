package session

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/netfault"
)

// TestH34ErrorAfterTheLock: locks survive the error of the statement that took them. What nobody accounts for is given back,
// and what is held stays.
func TestH34ErrorAfterTheLock(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	v, s, other := look(t, direct), start(t, url, long), start(t, direct, long)
	kept, read := s.take(t, "kept"), s.take(t, "read", shared)
	h := other.take(t, "busy")
	w := s.caller(t, "busy").waits(t.Context())
	exhaust(v, 0)
	for _, changes := range [][]func(*driver.Request){nil, {shared}} {
		c := s.caller(t, "x", changes...).start(t.Context()).ends(prompt)
		if kindOf(c.err) != "passing" {
			t.Errorf("an acquisition that cannot be numbered said: %v", c.err)
		}
	}
	// Several in one statement, two of them readers of one name, some granted before the one that fails.
	exhaust(v, 2)
	calls := []*caller{s.caller(t, "a"), s.caller(t, "b", shared), s.caller(t, "b", shared), s.caller(t, "c")}
	s.together(t, proxy, calls...)
	for _, c := range calls {
		if kindOf(c.err) != "passing" {
			t.Errorf("%q, which cannot be numbered, said: %v", c.req.Name, c.err)
		}
	}
	h.releases()
	if w.ends(prompt); kindOf(w.err) != "passing" {
		t.Errorf("a wait that cannot be numbered said: %v", w.err)
	}
	until(t, prompt, "only what is held is locked", func() bool { return v.advisory() == 2 })
	kept.keeps()
	read.keeps()
	v.do("alter sequence tenure.grants no maxvalue")
	for _, name := range []string{"x", "a", "b", "c", "busy"} {
		other.take(t, name).releases()
	}
	s.take(t, "x").releases()
	v.agrees(s)
	if n := len(s.claims); n != 2 {
		t.Errorf("%d acquisitions are remembered", n)
	}
}

// exhaust leaves so many numbers: the next one fails, after its lock was granted.
func exhaust(v *view, left int) {
	v.do(fmt.Sprintf("do $$ begin execute 'alter sequence tenure.grants maxvalue ' || (select last_value + %d from tenure.grants); end $$", left))
}

// together has callers share one exchange: the one before it is not answered until all queue.
func (s *Store) together(t testing.TB, proxy *netfault.Proxy, calls ...*caller) {
	t.Helper()
	proxy.Drop(false, true)
	defer proxy.Heal()
	_, _, before, _ := proxy.Counts()
	plug := make(chan error, 1)
	go func() { plug <- s.query(t.Context(), "beat", nil, nil) }()
	until(t, prompt, "the line is in use", func() bool { _, _, up, _ := proxy.Counts(); return up > before })
	for _, c := range calls {
		c.start(t.Context())
	}
	until(t, prompt, "all queue", func() bool {
		s.main.mu.Lock()
		defer s.main.mu.Unlock()
		return len(s.main.queue) >= len(calls)
	})
	proxy.Heal()
	for _, c := range calls {
		c.ends(prompt)
	}
	if err := <-plug; err != nil {
		t.Error(err)
	}
}

// TestH31Errors: whatever goes wrong with the statements of some, the leases of the others stay, and the server's list
// agrees with ours.
func TestH31Errors(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	v, s, other := look(t, direct), start(t, url, ttl(time.Minute)), start(t, direct, long)
	kept := s.take(t, "kept")
	// No grant can be numbered: the line's lock_timeout ends it.
	v.do("begin; alter sequence tenure.grants owned by none")
	calls := []*caller{s.caller(t, "x"), s.caller(t, "y"), s.caller(t, "z", shared)}
	s.together(t, proxy, calls...)
	for _, c := range append(calls, s.caller(t, "x").start(t.Context()).ends(prompt)) {
		if kindOf(c.err) != "passing" {
			t.Errorf("an acquisition that waited for the sequence said: %v", c.err)
		}
	}
	// Somebody cancels it.
	cancelled := s.caller(t, "x").start(t.Context())
	pid := s.pid(t)
	until(t, prompt, "it is cancelled", func() bool {
		return v.count("select count(*) from pg_locks where pid = $1 and not granted", pid) == 1 &&
			v.count("select pg_cancel_backend($1)::int", pid) == 1
	})
	if cancelled.ends(prompt); kindOf(cancelled.err) != "passing" {
		t.Errorf("an acquisition that was cancelled said: %v", cancelled.err)
	}
	// A release shares its exchange with one that fails.
	v.do("rollback")
	released := s.take(t, "released")
	v.do("begin; alter sequence tenure.grants owned by none")
	release := s.caller(t, "released")
	release.instead = func(ctx context.Context) error { return s.Release(ctx, released.req.Ref) }
	s.together(t, proxy, s.caller(t, "x"), release, s.caller(t, "y"))
	if release.err != nil {
		t.Errorf("a release beside statements that failed said: %v", release.err)
	}
	v.do("rollback")
	kept.keeps()
	v.agrees(s)
	if n := v.advisory(); n != 1 {
		t.Errorf("%d locks are left", n)
	}
	for _, name := range []string{"x", "y", "z", "released"} {
		other.take(t, name).releases()
	}
	if pid != s.pid(t) {
		t.Error("the session has another backend now")
	}
}

// TestH31FailedUnlock: a release whose statement fails gives the lock back all the same.
func TestH31FailedUnlock(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, other := look(t, url), start(t, url, long)
	s := startConfig(t, sabotage(t, url, map[string]string{"no unlock": "deallocate unlock"}), long)
	kept, c := s.take(t, "kept"), s.take(t, "x")
	s.runs(t, "no unlock")
	c.releases()
	if n := v.holders("x"); n != 0 {
		t.Errorf("it is still held")
	}
	other.take(t, "x").releases()
	// One that nobody waits for.
	c = s.take(t, "y")
	c.abandons()
	other.take(t, "y").releases()
	kept.keeps()
	v.agrees(s)
}

// TestH25UnlockSaysFalse: then the session is not what it was taken for. It is closed, and every lease on it is lost.
func TestH25UnlockSaysFalse(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	other := start(t, url, long)
	config := sabotage(t, url, map[string]string{"unlock all": "select pg_advisory_unlock_all()::text"})
	for _, notice := range []string{"release", "abandon", "heartbeat"} {
		s := startConfig(t, config.Copy(), long)
		c, kept := s.take(t, "x"), s.take(t, "kept")
		pid := s.pid(t)
		s.runs(t, "unlock all")
		switch notice {
		case "release":
			if err := s.Release(t.Context(), c.req.Ref); err == nil {
				t.Error("a release that gave nothing back succeeded")
			}
		case "abandon":
			c.abandons()
		case "heartbeat":
			if err := c.renew(); err == nil {
				t.Error("a lease was proved that the server does not know")
			}
			c.loses(prompt)
		}
		kept.loses(prompt)
		if err := kept.renew(); err == nil {
			t.Error("a lease was proved that was lost")
		}
		s.takeSoon(t, prompt, "x").releases()
		other.take(t, "kept").releases()
		if s.pid(t) == pid {
			t.Errorf("%s: the session goes on", notice)
		}
	}
}

// TestH26NothingLeft: a closed line's locks are free, whatever it held.
func TestH26NothingLeft(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s := look(t, url), start(t, url, long)
	h := start(t, url, long).take(t, "busy")
	s.take(t, "x")
	s.take(t, "y", shared)
	w := s.caller(t, "busy").waits(t.Context())
	h.releases()
	w.got(prompt)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, prompt, "nothing is left", func() bool { return v.advisory() == 0 && v.connections() == 1 })
}
