package rows

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// TestCleanRemovesWhatNobodyUses, and only that; and a name that comes back starts above the clock.
func TestCleanRemovesWhatNobodyUses(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	s := open(t, url)
	old := s.take(t, "old")
	old.releases()
	s.take(t, "held")
	s.take(t, "expired", lasting(10*time.Millisecond))
	s.take(t, "yesterday").releases()
	s.take(t, "ahead of the clock").releases()
	s.take(t, "monthly", func(r *driver.Request) { r.OncePer = 60 * 24 * time.Hour }).releases()
	exec(t, url, `
		update tenure.lease set used = used - 31 where name <> 'yesterday';
		update tenure.lease set used = used - 1 where name = 'yesterday';
		update tenure.lease set number = number + 1000000 * 3600::bigint where name = 'ahead of the clock';
		insert into tenure.waiter (session, acq, name, wants, since, due, channel, host, pid, program, note)
		values ('gone', 1, 'z', '{z}', clock_timestamp(), clock_timestamp() - interval '2 minutes', '', '', 0, '', ''),
			('late', 1, 'z', '{z}', clock_timestamp(), clock_timestamp() - interval '2 seconds', '', '', 0, '', '')`)
	if !until(prompt, func() bool {
		return ask[bool](t, url, "select expires < clock_timestamp() from tenure.lease where name = 'expired'")
	}) {
		t.Fatal("a lease of 10 ms does not run out")
	}
	n, err := s.Clean(t.Context())
	if err != nil || n != 2 {
		t.Errorf("%d rows went instead of 2: %v", n, err)
	}
	if left := ask[string](t, url, "select string_agg(name, ', ' order by name) from tenure.lease"); left != "ahead of the clock, held, monthly, yesterday" {
		t.Errorf("left are %s", left)
	}
	if left := ask[string](t, url, "select string_agg(session, ', ') from tenure.waiter"); left != "late" {
		t.Errorf("left of the waiters are %s", left)
	}
	if again := s.take(t, "old"); again.grant.Number <= old.grant.Number {
		t.Errorf("number %d came after %d", again.grant.Number, old.grant.Number)
	}
}

// TestForEver: a negative Keep keeps.
func TestForEver(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	s := open(t, url, func(c *Config) { c.Keep = -1 })
	s.take(t, "x").releases()
	exec(t, url, "update tenure.lease set used = '2001-01-01'")
	if n, err := s.Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("%d rows went: %v", n, err)
	}
}

// TestFreedRowKeepsItsNumber also where the clock stands behind it.
func TestFreedRowKeepsItsNumber(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	s := open(t, url)
	s.take(t, "x").releases()
	exec(t, url, "update tenure.lease set number = 4000000000000000")
	for want := int64(4000000000000001); want < 4000000000000004; want++ {
		c := s.take(t, "x")
		if c.grant.Number != want {
			t.Errorf("number %d instead of %d", c.grant.Number, want)
		}
		c.releases()
	}
}

// TestNumbersStartAtTheClock: it is the floor where a row was lost.
func TestNumbersStartAtTheClock(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	s := open(t, url)
	before := ask[int64](t, url, "select (extract(epoch from clock_timestamp()) * 1000000)::bigint")
	if n := s.take(t, "x").grant.Number; n < before {
		t.Errorf("number %d is below the clock, %d", n, before)
	}
	s.take(t, "y").releases()
	exec(t, url, "update tenure.lease set number = 7 where name = 'y'") // an old backup
	if n := s.take(t, "y").grant.Number; n < before {
		t.Errorf("number %d is below the clock, %d", n, before)
	}
}

// TestNumberAtItsEnd: a number that no token can carry is not handed out.
func TestNumberAtItsEnd(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	s := open(t, url)
	s.take(t, "x").releases()
	exec(t, url, "update tenure.lease set number = 36028797018963967")
	c := s.claim(t, "x").start(t.Context()).ends(prompt)
	if !kindIs(c.err, driver.Unknown) {
		t.Errorf("number %d, %v", c.grant.Number, c.err)
	}
	c.abandons()
	if n := ask[int](t, url, "select count(*) from tenure.lease where session is not null"); n != 0 {
		t.Error("the row is held by nobody")
	}
}

// TestRenewalShortensNothing, since an earlier proof may rest on the later end; and nobody renews what is another's.
func TestRenewalShortensNothing(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	s := open(t, url)
	held := s.take(t, "x", lasting(time.Hour))
	if proof, err := held.renew(time.Millisecond); err != nil || proof.Valid != time.Millisecond {
		t.Errorf("%+v, %v", proof, err)
	}
	if left := ask[int](t, url, "select extract(minute from expires - clock_timestamp())::int from tenure.lease"); left < 58 {
		t.Errorf("%d minutes are left of an hour", left)
	}
	before := ask[time.Time](t, url, "select expires from tenure.lease")
	stranger := *held
	stranger.req.Acq += 1 << 40
	if _, err := stranger.renew(2 * time.Hour); !errors.Is(err, driver.ErrNotOurs) {
		t.Errorf("a renewal by another acquisition: %v", err)
	}
	if after := ask[time.Time](t, url, "select expires from tenure.lease"); !after.Equal(before) {
		t.Error("a renewal by another acquisition pushed out the end")
	}
}

// TestExpiredIsGone: although nobody has taken it since.
func TestExpiredIsGone(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	s := open(t, url)
	for name, undo := range map[string]func(*claiming) error{
		"renew":   func(c *claiming) error { _, err := c.renew(time.Minute); return err },
		"release": (*claiming).release,
	} {
		held := s.take(t, name)
		exec(t, url, "update tenure.lease set expires = clock_timestamp()")
		if report, err := s.Inspect(t.Context(), name); err != nil || len(report.Holders) != 0 {
			t.Errorf("%s: Inspect tells %v, %v", name, report, err)
		}
		if err := undo(held); !errors.Is(err, driver.ErrNotOurs) {
			t.Errorf("%s of what ran out: %v", name, err)
		}
	}
}

// TestMemoryIsJudgedByTheRow: a grant that came between the look and the update counts.
func TestMemoryIsJudgedByTheRow(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	a, b := open(t, url), open(t, url)
	for range 30 {
		exec(t, url, "delete from tenure.lease")
		x, y := a.claim(t, "x", gap(time.Hour)).start(t.Context()), b.claim(t, "x", gap(time.Hour)).start(t.Context())
		granted := 0
		for _, c := range []*claiming{x, y} {
			if c.ends(prompt); c.err == nil {
				granted++
				c.releases()
			} else if !errors.As(c.err, new(*driver.HeldError)) {
				t.Error(c.err)
			}
		}
		if granted != 1 {
			t.Fatalf("%d were granted in one gap", granted)
		}
	}
}

// TestCloseFreesWhatIsUnknown: also an acquisition whose caller has left.
func TestCloseFreesWhatIsUnknown(t *testing.T) {
	t.Parallel()
	direct := database(t, server)
	url, proxy := through(t, direct)
	s := open(t, url)
	lost := proxy.LoseAnswers()
	c := s.claim(t, "x").start(t.Context())
	<-lost
	proxy.Cut()
	if c.ends(prompt); !kindIs(c.err, driver.Unknown) {
		t.Fatalf("an acquisition whose answer is lost: %v", c.err)
	}
	waiter := s.claim(t, "x").waits(t.Context())
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !errors.Is(waiter.ends(prompt).err, driver.ErrClosed) {
		t.Errorf("a waiter of a closed session: %v", waiter.err)
	}
	if n := ask[int](t, direct, "select (select count(*) from tenure.lease where session is not null) + (select count(*) from tenure.waiter)"); n != 0 {
		t.Errorf("%d rows are left of a closed session", n)
	}
}

// TestCloseOfHungServer ends with its context, and says what is left.
func TestCloseOfHungServer(t *testing.T) {
	t.Parallel()
	url, proxy := through(t, database(t, server))
	s, err := reopen(url)
	if err != nil {
		t.Fatal(err)
	}
	c := s.(*Store).take(t, "x")
	waiter := s.(*Store).claim(t, "x").waits(t.Context())
	proxy.Drop(true, true)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- s.Close(ctx) }()
	select {
	case err := <-closed:
		if err == nil || !strings.Contains(err.Error(), "run out") {
			t.Errorf("Close of a session whose server hangs said: %v", err)
		}
	case <-time.After(prompt):
		t.Fatal("Close hangs with its server")
	}
	if !errors.Is(waiter.ends(prompt).err, driver.ErrClosed) || len(c.watch.lost) != 1 {
		t.Errorf("the waiter got %v, the holder heard %d times", waiter.err, len(c.watch.lost))
	}
	proxy.Heal()
}

// TestNames are checked before any server is asked.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"": false, "a\x00b": false, "\xff": false, "x": true, string(make([]byte, 513)): false} {
		if key, err := NameKey(name); (err == nil) != ok || ok && key != name {
			t.Errorf("%q: %q, %v", name, key, err)
		}
	}
}
