package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/internal/servers"
)

// TestRestarts: whatever ends the server, every lease is lost at once, not at a heartbeat, and the next one is granted as
// soon as the server answers, under a higher number.
func TestRestarts(t *testing.T) {
	t.Parallel()
	own := servers.StartPostgres(t, servers.PostgresOptions{})
	url := own.Database(t)
	s, other := start(t, url, long), start(t, url, long)
	var last int64
	for _, end := range []string{"fast", "immediate", "killed"} {
		held := []*caller{s.takeSoon(t, prompt, "a"), s.takeSoon(t, prompt, "b"), other.takeSoon(t, prompt, "x")}
		w := s.caller(t, "x").waits(t.Context())
		held[2].releases()
		held[2] = w.got(prompt) // on a line that waited
		if w.grant.Number <= last {
			t.Errorf("number %d came after %d", w.grant.Number, last)
		}
		last = w.grant.Number
		var err error
		if end == "killed" {
			err = own.Kill()
		} else {
			err = own.Stop(end)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range held {
			c.loses(500 * time.Millisecond)
			if err := c.renew(); err == nil {
				t.Errorf("%s: a lease of an ended session was proved", end)
			}
		}
		if c := s.caller(t, "x").start(t.Context()).ends(prompt); kindOf(c.err) != "passing" {
			t.Errorf("%s: an acquisition without a server said: %v", end, c.err)
		}
		if err := own.Start(); err != nil {
			t.Fatal(err)
		}
		x := other.takeSoon(t, prompt, "x")
		if x.grant.Number <= last {
			t.Errorf("%s: number %d came after %d", end, x.grant.Number, last)
		}
		last = x.grant.Number
		x.releases()
		for _, c := range held {
			if c.losses.Load() != 1 {
				t.Errorf("%s: %q heard of its loss %d times", end, c.req.Name, c.losses.Load())
			}
		}
	}
}

// TestTerminatedBackend: whoever ends the session on the server takes its leases, and they know at once.
func TestTerminatedBackend(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s, other := look(t, url), start(t, url, long), start(t, url, long)
	a, b := s.take(t, "a"), s.take(t, "b", shared)
	h := other.take(t, "x")
	w := s.caller(t, "x").waits(t.Context())
	h.releases()
	w.got(prompt)
	v.count("select pg_terminate_backend($1)::int", s.pid(t))
	a.loses(500 * time.Millisecond)
	b.loses(500 * time.Millisecond)
	w.keeps()
	w.releases()
	again := other.takeSoon(t, prompt, "a")
	if again.grant.Number <= a.grant.Number {
		t.Errorf("number %d came after %d", again.grant.Number, a.grant.Number)
	}
	s.takeSoon(t, prompt, "b").releases() // it has a new line
	v.agrees(s)
}

// TestTokensRiseOverRestarts under load.
func TestTokensRiseOverRestarts(t *testing.T) {
	t.Parallel()
	own := servers.StartPostgres(t, servers.PostgresOptions{})
	url := own.Database(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tokens := &tally{t: t, last: make(map[string]tenure.Token), seen: make(map[tenure.Token]string)}
	var callers sync.WaitGroup
	for range 2 {
		l := locker(t, start(t, url, long))
		for i := range 16 {
			callers.Go(func() {
				for n := i; ctx.Err() == nil; n++ {
					tokens.turn(ctx, l, fmt.Sprint("name ", n%10))
				}
			})
		}
	}
	for i := range 5 {
		tokens.grow(t, 100)
		var err error
		switch i % 3 {
		case 0:
			err = own.Kill()
		case 1:
			err = own.Stop("fast")
		case 2:
			err = own.Stop("immediate")
		}
		if err := errors.Join(err, own.Start()); err != nil {
			t.Fatal(err)
		}
	}
	tokens.grow(t, 100)
	cancel()
	callers.Wait()
}

// tally checks that the tokens of a name rise, and never come twice.
type tally struct {
	t    testing.TB
	mu   sync.Mutex
	last map[string]tenure.Token
	seen map[tenure.Token]string
}

func (y *tally) turn(ctx context.Context, l *tenure.Locker, name string) {
	lease, err := l.Acquire(ctx, name)
	if err != nil {
		if ctx.Err() == nil {
			y.t.Errorf("acquire: %v", err)
		}
		return
	}
	y.mu.Lock()
	token := lease.Token()
	if before, again := y.seen[token]; again {
		y.t.Errorf("token %v of %q came twice, before of %q", token, name, before)
	}
	// A lease that the restart ended may come here after its successor.
	if last := y.last[name]; token <= last && lease.Err() == nil {
		y.t.Errorf("token %v of %q came after %v", token, name, last)
	}
	y.seen[token], y.last[name] = name, max(token, y.last[name])
	y.mu.Unlock()
	if err := lease.Release(ctx); err != nil && !errors.Is(err, tenure.ErrLost) && !errors.Is(err, tenure.ErrUnavailable) {
		y.t.Errorf("release: %v", err)
	}
}

// grow waits until every name has got further, and so many tokens have come.
func (y *tally) grow(t testing.TB, by int) {
	t.Helper()
	y.mu.Lock()
	before, seen := maps.Clone(y.last), len(y.seen)
	y.mu.Unlock()
	until(t, 3*prompt, "tokens of all names", func() bool {
		y.mu.Lock()
		defer y.mu.Unlock()
		further := 0
		for name, token := range y.last {
			if token > before[name] {
				further++
			}
		}
		return further == 10 && len(y.seen) >= seen+by
	})
}
