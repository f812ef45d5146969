package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// TestCancelledWait leaves the server's queue at once, and its connection serves the next wait.
func TestCancelledWait(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s, other := look(t, url), start(t, url, long), start(t, url, long)
	h := other.take(t, "x")
	for range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		w := s.caller(t, "x").waits(ctx)
		cancel()
		w.ends(late)
		if kind := kindOf(w.err); kind != "unknown" {
			t.Errorf("a wait that was left said %s: %v", kind, w.err)
		}
		w.abandons()
		if n := v.queue("x"); n != 0 {
			t.Fatalf("%d wait after the only one was abandoned", n)
		}
		until(t, prompt, "the connection is free for the next", func() bool { return s.waited() == 0 })
	}
	// The session's main line and one that waits, and the other's one.
	if n := v.connections(); n != 3 {
		t.Errorf("%d connections after waits one after the other", n)
	}
	h.releases()
	s.take(t, "x").releases()
	v.agrees(s)
	if n := len(s.claims); n != 0 {
		t.Errorf("%d acquisitions are remembered", n)
	}
}

// TestH32CancelledAsGranted: a wait that ends in the instant of its grant is granted or passed on, thousands of times.
func TestH32CancelledAsGranted(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s, other := look(t, url), start(t, url, long), start(t, url, long)
	var names sync.WaitGroup
	var granted, left sync.Map // of name and round
	const rounds = 500
	for i := range 4 {
		name := fmt.Sprint("x", i)
		names.Go(func() {
			after := time.Millisecond // moved so that grant and end meet
			for n := range rounds {
				h := other.caller(t, name)
				h.req.Wait = true
				if h.start(t.Context()); !h.over() || h.err != nil {
					t.Errorf("acquire %q, which was passed on: %v", name, h.err)
					return
				}
				ctx, cancel := context.WithCancel(t.Context())
				w := s.caller(t, name)
				w.req.Wait = true
				w.start(ctx)
				for end := time.Now().Add(prompt); !w.isQueued() && time.Now().Before(end); {
					time.Sleep(50 * time.Microsecond)
				}
				time.AfterFunc(after, cancel)
				if err := other.Release(t.Context(), h.req.Ref); err != nil {
					t.Errorf("release %q: %v", name, err)
				}
				if !w.over() {
					t.Errorf("a wait for %q did not end", name)
					return
				}
				switch w.err {
				case nil:
					granted.Store([2]int{i, n}, true)
					after -= rand.N(after/8 + 1)
					if err := s.Release(t.Context(), w.req.Ref); err != nil {
						t.Errorf("release %q: %v", name, err)
					}
				default:
					left.Store([2]int{i, n}, true)
					after += rand.N(after/8 + time.Microsecond)
					if kindOf(w.err) == "unknown" {
						w.abandons()
					}
				}
			}
		})
	}
	names.Wait()
	t.Logf("%d granted, %d left", size(&granted), size(&left))
	until(t, prompt, "no lock is left", func() bool { return v.advisory() == 0 })
	until(t, prompt, "every connection is known", func() bool { return v.connections() == s.lines()+other.lines() })
	if n := s.lines(); n > 1+s.opts.Waited {
		t.Errorf("%d connections", n)
	}
	v.agrees(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.claims); n != 0 {
		t.Errorf("%d acquisitions are remembered", n)
	}
	for l := range s.extras {
		if l.uses != 0 {
			t.Errorf("a line of which nothing is held or asked has %d users", l.uses)
		}
	}
	if s.room.waits != 0 {
		t.Errorf("%d places to wait are taken by nobody", s.room.waits)
	}
}

// lines counts the connections that a session knows of.
func (s *Store) lines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return 1 + len(s.extras)
}

// isQueued says whether its wait was handed to a line.
func (c *caller) isQueued() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	found := c.s.claims[c.req.Acq]
	return found != nil && found.asked && found.line.extra
}

// over waits for its end.
func (c *caller) over() bool {
	select {
	case <-c.done:
		return true
	case <-time.After(2 * prompt):
		return false
	}
}

func size(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}
