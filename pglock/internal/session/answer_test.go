package session

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/netfault"
)

// late is how much later than its bound a call may return on a machine that has much else to do.
const late = 2 * time.Second

// TestH12LostAnswer: a grant whose answer is lost is cleaned up, long before its TTL.
func TestH12LostAnswer(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	s, other := start(t, url, long), start(t, direct, long)
	kept := s.take(t, "kept")
	lost := proxy.LoseAnswers()
	ctx, cancel := context.WithCancel(t.Context())
	c := s.caller(t, "x").start(ctx)
	<-lost // it is granted
	cancel()
	var fault *driver.Fault
	if c.ends(late); !errors.As(c.err, &fault) || fault.Kind != driver.Unknown || fault.Sent.IsZero() {
		t.Fatalf("an acquisition whose answer is lost said: %v", c.err)
	}
	other.refused(t, "x")
	proxy.Cut()
	kept.loses(late)
	c.abandons()
	other.take(t, "x").releases()
	s.take(t, "x").releases()
}

// TestH14LateAnswer: a context is a bound, and the late grant is given back. The session and its other leases stay.
func TestH14LateAnswer(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	s, other := start(t, url, long), start(t, direct, long)
	v, kept := look(t, direct), s.take(t, "kept")
	proxy.Drop(false, true)
	defer proxy.Heal()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := s.caller(t, "first").start(ctx)
	until(t, prompt, "the server grants it", func() bool { return v.holders("first") == 1 })
	bounded, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	second := s.caller(t, "second").start(bounded)
	second.ends(50*time.Millisecond + late)
	cancel()
	first.ends(late)
	if kindOf(first.err) != "unknown" || kindOf(second.err) != "passing" {
		t.Errorf("sent: %v; queued: %v", first.err, second.err)
	}
	proxy.Heal()
	first.abandons()
	second.abandons()
	if v.advisory() != 1 {
		t.Errorf("%d locks are left beside the one that is held", v.advisory()-1)
	}
	other.take(t, "first").releases()
	other.take(t, "second").releases()
	kept.keeps()
	v.agrees(s)
}

// TestH14Bound is the same with the root package above it, and nobody who abandons.
func TestH14Bound(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	s, other := start(t, url, long), start(t, direct, long)
	l := locker(t, s)
	proxy.Delay(time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := l.Acquire(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, tenure.ErrHeld) {
		t.Errorf("it said: %v", err)
	}
	if took := time.Since(began); took > late {
		t.Errorf("a call bounded by 100 ms returned after %v", took)
	}
	other.takeSoon(t, prompt, "x").releases()
	look(t, direct).agrees(s)
}

// routes dials through a proxy, then directly.
func routes(t *testing.T, direct string) (*pgx.ConnConfig, *netfault.Proxy, *atomic.Bool) {
	url, proxy := through(t, direct)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	there, err := pgx.ParseConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	var straight atomic.Bool
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if straight.Load() {
			_, address = pgconn.NetworkAddress(there.Host, there.Port)
		}
		return dial(ctx, network, address)
	}
	return config, proxy, &straight
}

// TestH67Ghost: a session of ours that broke on this side only is ended on the server, with what it was granted last.
func TestH67Ghost(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	config, proxy, straight := routes(t, direct)
	s, other := startConfig(t, config, long), start(t, direct, long)
	v := look(t, direct)
	s.take(t, "x").releases() // the numbering is open from here on
	defer proxy.Heal()
	proxy.Drop(false, true)
	ctx, cancel := context.WithCancel(t.Context())
	c := s.caller(t, "x").start(ctx)
	until(t, prompt, "the server grants it", func() bool { return v.holders("x") == 1 })
	proxy.Drop(true, true)
	cancel()
	if c.ends(late); kindOf(c.err) != "unknown" {
		t.Fatalf("an acquisition without an answer said: %v", c.err)
	}
	straight.Store(true)
	s.main.shut()
	other.refused(t, "x")
	c.abandons()
	other.take(t, "x").releases()
	if len(s.ghosts) != 0 {
		t.Errorf("%d ghosts are remembered", len(s.ghosts))
	}
}

// TestClaimsEnd: whatever becomes of the line meanwhile, nothing is left of an acquisition that was abandoned.
func TestClaimsEnd(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	s := start(t, url, long)
	s.take(t, "a").releases() // the numbering is open from here on
	for i := range 10 {
		if _, err := s.mainLine(t.Context()); err != nil {
			t.Fatal(err)
		}
		proxy.Drop(false, true)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		calls := []*caller{s.caller(t, "a").start(ctx), s.caller(t, "b").start(t.Context())}
		if i%2 == 0 {
			<-ctx.Done()
		}
		proxy.Cut()
		proxy.Heal()
		for _, c := range calls {
			c.ends(prompt)
			c.abandons()
		}
		cancel()
	}
	if n := len(s.claims); n != 0 {
		t.Errorf("%d acquisitions are remembered", n)
	}
}

// TestH13DeadContext: a release works although its context is over, also one of the driver's own.
func TestH13DeadContext(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	s, other := start(t, url, long), start(t, url, long)
	l := locker(t, s)
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	lease, err := l.Acquire(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(dead); err != nil {
		t.Errorf("a release with a dead context said: %v", err)
	}
	other.take(t, "x").releases()
	for range 100 {
		c := s.take(t, "x")
		if err := s.Release(dead, c.req.Ref); err != nil && kindOf(err) != "unknown" {
			t.Fatalf("a release with a dead context said: %v", err)
		}
		c.abandons()
		other.take(t, "x").releases()
	}
}
