package rows

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
)

// TestH12LostAnswer: the grant whose answer is lost is found by its owner, and the name is free long before its TTL.
func TestH12LostAnswer(t *testing.T) {
	t.Parallel()
	direct := database(t, server)
	url, proxy := through(t, direct)
	s, other := open(t, url), open(t, direct)
	lost := proxy.LoseAnswers()
	ctx, cancel := context.WithCancel(t.Context())
	c := s.claim(t, "x").start(ctx)
	<-lost // it is granted
	cancel()
	var fault *driver.Fault
	if c.ends(prompt); !errors.As(c.err, &fault) || fault.Kind != driver.Unknown || fault.Sent.IsZero() {
		t.Fatalf("an acquisition whose answer is lost said: %v", c.err)
	}
	other.refused(t, "x")
	proxy.Cut()
	c.abandons()
	other.take(t, "x")
}

// TestH12NoOrphan is the same with the root package above it.
func TestH12NoOrphan(t *testing.T) {
	t.Parallel()
	direct := database(t, server)
	url, proxy := through(t, direct)
	s, other := open(t, url), open(t, direct)
	locker, err := tenure.New(s, tenure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close(context.Background())
	lost := proxy.LoseAnswers()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = locker.Acquire(ctx, "x")
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > prompt {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	<-lost
	proxy.Cut()
	other.takeSoon(t, 2*prompt, "x") // of a TTL of 30 s
}

// TestH14HangingServer: a context is a bound, and what had not been sent has no effect.
func TestH14HangingServer(t *testing.T) {
	t.Parallel()
	direct := database(t, server)
	url, proxy := through(t, direct)
	s, other := open(t, url), open(t, direct)
	proxy.Drop(true, true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	first := s.claim(t, "sent").start(ctx)
	if !until(prompt, func() bool {
		s.combine.mu.Lock()
		defer s.combine.mu.Unlock()
		return s.combine.running && len(s.combine.queue) == 0
	}) {
		t.Fatal("the first request was not sent")
	}
	second := s.claim(t, "queued").start(ctx)
	for _, c := range []*claiming{first, second} {
		c.ends(time.Second)
	}
	if !kindIs(first.err, driver.Unknown) || !kindIs(second.err, driver.Passing) {
		t.Errorf("sent: %v; queued: %v", first.err, second.err)
	}
	proxy.Heal()
	first.abandons()
	other.take(t, "sent")
	other.take(t, "queued")
	s.take(t, "after") // the session goes on
}

// TestHungConnectionIsReplaced: after the patience with a statement, another connection is opened.
func TestHungConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	url, proxy := through(t, database(t, server))
	s, count := openCounted(t, url)
	held := s.take(t, "x")
	proxy.LoseAnswers()
	if _, err := held.renew(time.Minute); !kindIs(err, driver.Unknown) {
		t.Errorf("a renewal that hangs said: %v", err)
	}
	proxy.Cut() // ends that answers are lost, and what pgx does about the hung connection
	held.renewsSoon(prompt)
	if n := count.connections.Load(); n < 2 {
		t.Errorf("%d connections", n)
	}
}

// TestCutConnectionLosesNothing: leases are rows, and outlive the connection.
func TestCutConnectionLosesNothing(t *testing.T) {
	t.Parallel()
	direct := database(t, server)
	url, proxy := through(t, direct)
	s, other := open(t, url), open(t, direct)
	held := s.take(t, "x")
	waiter := s.claim(t, "y")
	holder := other.take(t, "y")
	waiter.waits(t.Context())
	proxy.Cut()
	held.renewsSoon(prompt)
	other.refused(t, "x")
	holder.releases()
	if waiter.ends(prompt); waiter.err != nil && !kindIs(waiter.err, driver.Unknown) { // if its question was cut off
		t.Error(waiter.err)
	}
	waiter.abandons()
	held.releases()
}

// TestH67LateAcquire: an acquire that runs after its clean-up is found by the next one.
func TestH67LateAcquire(t *testing.T) {
	t.Parallel()
	direct := database(t, server)
	url, proxy := through(t, direct)
	s, other := open(t, url), open(t, direct)
	other.take(t, "x").releases()

	blocker, err := pgx.Connect(t.Context(), direct)
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Close(context.Background())
	if err := blocker.PgConn().Exec(t.Context(), "begin; select 1 from tenure.lease for update").Close(); err != nil {
		t.Fatal(err)
	}
	c := s.claim(t, "x").start(t.Context())
	blocked := "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
	if !until(prompt, func() bool { return ask[int](t, direct, blocked) == 1 }) {
		t.Fatal("the acquire does not wait for the row")
	}
	proxy.Cut() // the server goes on with it
	if c.ends(prompt); !kindIs(c.err, driver.Unknown) {
		t.Fatalf("an acquire that was cut off said: %v", c.err)
	}
	c.abandons() // nothing is there yet
	if err := blocker.PgConn().Exec(t.Context(), "commit").Close(); err != nil {
		t.Fatal(err)
	}
	if !until(prompt, func() bool { return ask[int](t, direct, blocked) == 0 }) {
		t.Fatal("the acquire does not end")
	}
	c.abandons()
	other.takeSoon(t, prompt, "x")
}

// TestH31LockedRow: a row that somebody sits on fails its own request in bounded time, and no other.
func TestH31LockedRow(t *testing.T) {
	t.Parallel()
	url, proxy := through(t, database(t, server))
	s := open(t, url)
	s.take(t, "stuck").releases()
	blocker, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Close(context.Background())
	if err := blocker.PgConn().Exec(t.Context(), "begin; select 1 from tenure.lease where name = 'stuck' for update").Close(); err != nil {
		t.Fatal(err)
	}
	proxy.Drop(true, true) // so that the next two go together
	first := s.claim(t, "first").start(t.Context())
	if !until(prompt, func() bool {
		s.combine.mu.Lock()
		defer s.combine.mu.Unlock()
		return s.combine.running && len(s.combine.queue) == 0
	}) {
		t.Fatal("the first request was not sent")
	}
	stuck, beside := s.claim(t, "stuck").start(t.Context()), s.claim(t, "a").start(t.Context())
	proxy.Heal()
	first.got(prompt)
	beside.got(3 * prompt)
	if stuck.ends(3 * prompt); !kindIs(stuck.err, driver.Passing) {
		t.Errorf("a row that is locked: %v", stuck.err)
	}
	if err := blocker.PgConn().Exec(t.Context(), "rollback").Close(); err != nil {
		t.Fatal(err)
	}
	s.take(t, "stuck")
}

// TestH33StandbyIsRefused: a standby would grant what the primary has granted. When it is promoted and lacks the last grant,
// its numbers are higher all the same.
func TestH33StandbyIsRefused(t *testing.T) {
	t.Parallel()
	primary := servers.StartPostgres(t, servers.PostgresOptions{})
	url := database(t, primary)
	standby := primary.Standby(t, servers.PostgresOptions{})
	s := open(t, url)
	s.take(t, "x").releases()
	ctx, cancel := context.WithTimeout(t.Context(), 6*prompt)
	defer cancel()
	if err := standby.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	there := strings.Replace(url, primary.Address(), standby.Address(), 1)
	if _, err := reopen(there); !kindIs(err, driver.Passing) {
		t.Errorf("a standby: %v", err)
	}
	if err := standby.StopReplication(); err != nil {
		t.Fatal(err)
	}
	lost := s.take(t, "x")
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	if after := open(t, there).take(t, "x").grant.Number; after <= lost.grant.Number {
		t.Errorf("number %d came after %d of the old primary", after, lost.grant.Number)
	}
	if err := primary.Start(); err != nil { // so that the session can be closed
		t.Fatal(err)
	}
}
