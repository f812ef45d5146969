package rows

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/internal/servers"
)

// listens waits until a session's waiters have asked under the channel on which they are woken, and rest.
func listens(t *testing.T, url string, waiters int) {
	t.Helper()
	if !until(2*prompt, func() bool {
		return ask[int](t, url, "select count(*) from tenure.waiter where channel <> '' and due > clock_timestamp() + interval '1 second'") == waiters
	}) {
		t.Fatalf("%d waiters do not listen", waiters)
	}
}

// rests waits until a waiter's next question is some time away, and gives when that is, on the database's clock: whatever it
// is granted before then it was woken for.
func rests(t *testing.T, url string, waiter *claiming) (byItself time.Time) {
	t.Helper()
	if !until(3*prompt, func() bool {
		due := ask[time.Time](t, url, "select due from tenure.waiter where session = $1 and acq = $2", waiter.s.Info().Session, int64(waiter.req.Acq))
		now := ask[time.Time](t, url, "select clock_timestamp()")
		byItself = due.Add(-slack)
		return byItself.Sub(now) > 2*time.Second
	}) {
		t.Fatal("a waiter that listens does not rest")
	}
	return byItself
}

// TestH22OneWaiterIsWoken: of many that wait, a release disturbs the first, in its own statement, and no other.
func TestH22OneWaiterIsWoken(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	holder, holding := openCounted(t, url)
	held := holder.take(t, "x")
	ears, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer ears.Close(context.Background())
	var waiters []*claiming
	for range 5 {
		s := open(t, url)
		waiters = append(waiters, s.claim(t, "x", lasting(time.Hour)).waits(t.Context()))
		if err := ears.PgConn().Exec(t.Context(), "listen "+s.listen.name()).Close(); err != nil {
			t.Fatal(err)
		}
	}
	listens(t, url, len(waiters))
	// Those that began to listen have told themselves so; that is over when this one is heard.
	heard := func() (payloads []string) {
		exec(t, url, "select pg_notify('"+waiters[0].s.listen.name()+"', 'end')")
		for {
			n, err := ears.WaitForNotification(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n.Payload == "end" {
				return payloads
			}
			payloads = append(payloads, n.Channel+" "+n.Payload)
		}
	}
	heard()
	for i, w := range waiters {
		byItself := rests(t, url, w)
		if n := holding.during(held.releases); i == 0 && n != 1 {
			t.Errorf("a release that wakes took %d statements", n)
		}
		if w.got(prompt); !w.grant.Since.Before(byItself) {
			t.Error("the waiter was not woken")
		}
		want := w.s.listen.name() + " " + strconv.FormatUint(w.req.Acq, 10)
		if got := heard(); len(got) != 1 || got[0] != want {
			t.Errorf("a release for which %d waited told %v instead of %q", len(waiters)-i, got, want)
		}
		held = w
	}
}

// TestIdleWaiterAsksRarely counts what a waiter asks that polls, from its first question on.
func TestIdleWaiterAsksRarely(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	open(t, url).take(t, "x")
	s, count := openCounted(t, url)
	s.listen.deaf = time.Now().Add(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	n := count.during(func() { s.claim(t, "x", waiting).start(ctx).ends(3*time.Second + prompt) })
	if n > 16 || n < 3 {
		t.Errorf("a waiter asked %d times in three seconds", n)
	}
}

// TestListeningWaiterAsksRarely counts what a waiter asks that would be woken.
func TestListeningWaiterAsksRarely(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	open(t, url).take(t, "x")
	s, count := openCounted(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	waiter := s.claim(t, "x").waits(ctx)
	listens(t, url, 1)
	n := count.during(func() {
		until(3*time.Second, func() bool { return false }) // it is about the time that passes
	})
	if n > 4 {
		t.Errorf("a waiter that listens asked %d times in three seconds", n)
	}
	cancel()
	waiter.ends(prompt)
}

// TestH21MissedWakeUp frees a row without a word: the waiter's own question finds it.
func TestH21MissedWakeUp(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	holder, s := open(t, url), open(t, url)
	holder.take(t, "x")
	waiter := s.claim(t, "x", lasting(2*time.Second)).waits(t.Context())
	if !until(prompt, func() bool { return s.listen.channel() != "" }) {
		t.Fatal("the session does not listen")
	}
	exec(t, url, "update tenure.lease set session = null, acq = null")
	waiter.got(2*time.Second/4 + prompt)
}

// TestH21ListenerDies ends the listening connection: its waiters ask, and another one is opened.
func TestH21ListenerDies(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	holder, s := open(t, url), open(t, url)
	held := holder.take(t, "x")
	waiter := s.claim(t, "x").waits(t.Context())
	listens(t, url, 1)
	exec(t, url, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen%' or query like 'unlisten%'")
	if !until(prompt, func() bool { return s.listen.channel() == "" }) {
		t.Fatal("nobody noticed that the listening connection is gone")
	}
	listens(t, url, 1)
	held.releases()
	waiter.got(prompt)
}

// TestListensOnlyWhileSomebodyWaits counts a session's connections.
func TestListensOnlyWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	holder, s := open(t, url), open(t, url+"&application_name=counted")
	connections := func() int {
		return ask[int](t, url, "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'counted'")
	}
	held := holder.take(t, "x")
	waiter := s.claim(t, "x").waits(t.Context())
	listens(t, url, 1)
	if n := connections(); n != 2 {
		t.Errorf("a session that waits has %d connections", n)
	}
	held.releases()
	waiter.got(prompt)
	if !until(linger+prompt, func() bool { return connections() == 1 }) {
		t.Errorf("a session in which nobody waits has %d connections", connections())
	}
}

// TestDeafBehindPooler: behind a pooler that shares connections the session finds out that it is never woken.
func TestDeafBehindPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"transaction", "statement"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			direct := database(t, server)
			bouncer := servers.StartPgBouncer(t, server, servers.PgBouncerOptions{PoolMode: mode})
			url := bouncer.URL(direct)
			holder, s := open(t, url), open(t, url)
			held := holder.take(t, "x")
			waiter := s.claim(t, "x", lasting(4*time.Second)).waits(t.Context())
			if !until(hearing+prompt, func() bool {
				s.listen.mu.Lock()
				defer s.listen.mu.Unlock()
				return !s.listen.deaf.IsZero()
			}) {
				t.Fatal("the session does not know that it is deaf")
			}
			if n := ask[int](t, direct, "select count(*) from tenure.waiter where channel <> ''"); n != 0 {
				t.Errorf("%d waiters are to be woken where nobody hears", n)
			}
			held.releases()
			waiter.got(time.Second + prompt)
		})
	}
}
