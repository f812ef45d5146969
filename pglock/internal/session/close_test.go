package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// TestClose: waiters hear at once that it is closed, holders that they lost, and nothing is left on the server.
func TestClose(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s := look(t, url), start(t, url, long, func(o *Options) { o.Waits = 2 })
	other := start(t, url, long)
	h := other.take(t, "busy")
	other.take(t, "busy too")
	held := []*caller{s.take(t, "x"), s.take(t, "y", shared)}
	waiting := []*caller{s.caller(t, "busy").waits(t.Context()), s.caller(t, "busy too", shared).waits(t.Context())}
	began := time.Now()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > late {
		t.Errorf("it took %v", took)
	}
	for _, c := range waiting {
		if c.ends(late); !errors.Is(c.err, driver.ErrClosed) {
			t.Errorf("a waiter of a closed session heard: %v", c.err)
		}
	}
	for _, c := range held {
		if c.loses(late); c.losses.Load() != 1 {
			t.Errorf("%q heard of its loss %d times", c.req.Name, c.losses.Load())
		}
	}
	until(t, prompt, "its connections have gone", func() bool { return v.connections() == 1 && v.waiting() == 0 })
	for name, err := range map[string]error{
		"acquire": s.caller(t, "z").start(t.Context()).ends(late).err,
		"release": s.Release(t.Context(), held[0].req.Ref),
		"renew":   held[0].renew(),
	} {
		if !errors.Is(err, driver.ErrClosed) || kindOf(err) != "lasting" {
			t.Errorf("%s on a closed session said: %v", name, err)
		}
	}
	if _, err := s.Inspect(t.Context(), "x"); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("inspect on a closed session said: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("a second Close said: %v", err)
	}
	h.keeps()
}

// TestCloseWithADeadContext: the server hears of it all the same.
func TestCloseWithADeadContext(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s, other := look(t, url), start(t, url, long), start(t, url, long)
	s.take(t, "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	other.takeSoon(t, late, "x")
	until(t, prompt, "its connection has gone", func() bool { return v.connections() == 1 })
}

// TestCloseWhileTheServerHangs is bounded, whatever is under way.
func TestCloseWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	for _, bound := range []time.Duration{0, 300 * time.Millisecond} {
		s, other := start(t, url, long), start(t, direct, long)
		h := other.take(t, "busy")
		x := s.take(t, "x")
		w := s.caller(t, "busy").waits(t.Context())
		proxy.Drop(true, true)
		asks := s.caller(t, "y").start(t.Context())
		dials := s.caller(t, "busy")
		dials.req.Wait = true
		dials.start(t.Context())
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > bound+time.Second+late {
			t.Errorf("a close bounded by %v took %v", bound, took)
		}
		x.loses(late)
		for _, c := range []*caller{w, asks, dials} {
			if c.ends(late); c.err == nil {
				t.Errorf("a closed session has %q", c.req.Name)
			}
		}
		proxy.Heal()
		other.takeSoon(t, prompt, "x")
		h.releases()
		other.takeSoon(t, prompt, "busy").releases()
		if err := other.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
