package rows

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
)

// TestBatchesDoNotDeadlock has two sessions take, renew and give back the same hundred names, in orders of their own.
func TestBatchesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	const names, rounds = 100, 6
	var sessions sync.WaitGroup
	for range 2 {
		s := open(t, url)
		sessions.Go(func() {
			for range rounds {
				var callers sync.WaitGroup
				for _, i := range rand.Perm(names) {
					c := s.claim(t, fmt.Sprint(i))
					callers.Go(func() {
						grant, err := s.Acquire(t.Context(), &c.req)
						if err != nil {
							return
						}
						if c.grant = grant; rand.IntN(2) == 0 {
							if _, err := c.renew(time.Minute); err != nil {
								t.Errorf("renew: %v", err)
							}
						}
						if err := c.release(); err != nil {
							t.Errorf("release: %v", err)
						}
					})
				}
				callers.Wait()
			}
		})
	}
	sessions.Wait()
	if n := ask[int](t, url, "select deadlocks from pg_stat_database where datname = current_database()"); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	if n := ask[int](t, url, "select count(*) from tenure.lease where session is not null"); n != 0 {
		t.Errorf("%d names are held after all were released", n)
	}
}

// TestRowsAreLockedInTheOrderOfTheirNames: a batch that waits for the first of its rows sits on none of the others.
func TestRowsAreLockedInTheOrderOfTheirNames(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	s := open(t, url)
	names := []string{"j", "c", "A", "h", "e", "b", "i", "d", "g", "f"} // "A" is first, by bytes
	var claims []*claiming
	for _, name := range names {
		c := s.take(t, name)
		c.releases()
		claims = append(claims, s.claim(t, name))
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	blockedWhile := func(what string, batch func()) {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "select 1 from tenure.lease where name = 'A' for update"); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { defer close(done); batch() }()
		if !until(prompt, func() bool {
			return ask[int](t, url, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") == 1
		}) {
			t.Errorf("%s: the batch does not wait for a locked row", what)
		}
		var free int
		if err := tx.QueryRow(t.Context(), "with f as (select 1 from tenure.lease for update skip locked) select count(*) from f").Scan(&free); err != nil {
			t.Fatal(err)
		}
		if free != len(names) {
			t.Errorf("%s: the batch waits for the first row and sits on %d others", what, len(names)-free)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-done
	}
	blockedWhile("acquire", func() {
		var jobs []*job
		for _, c := range claims {
			held, _, err := s.claims.add(&c.req)
			if err != nil {
				t.Error(err)
				return
			}
			q := newQuestion(held, &c.req, micros(time.Hour))
			jobs = append(jobs, &job{kind: acquiring, acq: c.req.Acq, names: q.candidates(), asks: q})
		}
		_ = s.do(t.Context(), jobs...)
		for _, j := range jobs {
			if j.err != nil || !j.asks.verdict.won {
				t.Errorf("acquire %q: %v", j.names, j.err)
			}
		}
	})
	blockedWhile("renew", func() {
		var batch []driver.Renewal
		for _, c := range claims {
			batch = append(batch, driver.Renewal{Ref: c.req.Ref})
		}
		s.Renew(t.Context(), batch)
	})
	blockedWhile("abandon", func() {
		var batch []driver.Removal
		for _, c := range claims {
			batch = append(batch, driver.Removal{Ref: c.req.Ref})
		}
		s.Abandon(t.Context(), batch)
	})
}

// TestNobodyPassesALiveWaiter: a name that is free belongs to the first of those who wait, until that one is overdue.
func TestNobodyPassesALiveWaiter(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	s := open(t, url)
	const dead = `insert into tenure.waiter (session, acq, name, wants, since, due, channel, host, pid, program, note)
		values ('gone', 1, 'x', '{x}', clock_timestamp() - interval '1 minute', clock_timestamp() + interval '%s', '', 'there', 4711, 'stalled', '')`
	exec(t, url, fmt.Sprintf(dead, "1 hour"))
	if h := s.refused(t, "x").Holder; h.Session != "gone" || h.PID != 4711 || h.Acq != 1 {
		t.Errorf("in the way is %+v", h)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiter := s.claim(t, "x").waits(ctx)
	cancel()
	waiter.ends(prompt)
	waiter.abandons()

	exec(t, url, "delete from tenure.waiter")
	exec(t, url, fmt.Sprintf(dead, "1 second"))
	began := time.Now()
	waiter = s.claim(t, "x", waiting).start(t.Context()).got(time.Second + prompt)
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("a live waiter was passed after %v", took)
	}
	waiter.releases()
	exec(t, url, "delete from tenure.waiter")
	exec(t, url, fmt.Sprintf(dead, "1 hour"))
	s.take(t, "y") // nor does it want any other name
}

// TestWaitersAreServedInOrder: with waiters that all ask in time.
func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	held := open(t, url).take(t, "x")
	var waiters []*claiming
	for range 4 {
		waiters = append(waiters, open(t, url).claim(t, "x", lasting(time.Hour)).waits(t.Context()))
	}
	var report driver.Report
	if !until(prompt, func() bool { // on a busy machine one may be overdue for a moment
		var err error
		report, err = held.s.Inspect(t.Context(), "x")
		return err == nil && len(report.Holders) == 1 && len(report.Waiters) == len(waiters)
	}) {
		t.Fatalf("Inspect tells %d holders and %d waiters", len(report.Holders), len(report.Waiters))
	}
	self := driver.Self()
	for i, h := range report.Waiters {
		if h.Session != waiters[i].s.Info().Session || h.Acq != waiters[i].req.Acq || h.PID != self.PID || h.Program != self.Program || h.Since.IsZero() {
			t.Errorf("waiter %d is told as %+v", i+1, h)
		}
	}
	if behind := waiters[0].watch.behind; behind == nil || behind.Session != held.s.Info().Session || behind.Number != held.grant.Number {
		t.Errorf("the first waiter waits behind %+v", behind)
	}
	exec(t, url, "delete from tenure.waiter") // as a crash does: each comes back in its place
	listens(t, url, len(waiters))
	for i, next := range waiters {
		held.releases()
		held = next.got(prompt)
		if report, err := held.s.Inspect(t.Context(), "x"); err != nil || len(report.Waiters) > len(waiters)-1-i {
			t.Errorf("%d waiters are told when %d are left: %v", len(report.Waiters), len(waiters)-1-i, err)
		}
	}
}

// TestWaiterTakesWhatRunsOut asks right when the holder's time is over, not a pause later.
func TestWaiterTakesWhatRunsOut(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	a, b := open(t, url), open(t, url)
	held := a.take(t, "x", lasting(1500*time.Millisecond))
	waiter := b.claim(t, "x", lasting(time.Hour)).waits(t.Context())
	waiter.got(1500*time.Millisecond + prompt)
	ran := waiter.grant.Since.Sub(held.grant.Since)
	if ran < 1500*time.Millisecond {
		t.Errorf("the waiter was granted after %v of 1.5 s", ran)
	}
	if _, err := held.renew(time.Minute); err != driver.ErrNotOurs { //nolint:errorlint // exactly this
		t.Errorf("a renewal of what ran out: %v", err)
	}
}

// TestSlotWaitersAreAllWoken: two slots that come free together serve two waiters.
func TestSlotWaitersAreAllWoken(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	slots := func(r *driver.Request) {
		for i := range 3 {
			name := fmt.Sprintf("%s#%d", r.Name, i+1)
			r.Slots = append(r.Slots, driver.Slot{Name: name, Key: name})
		}
	}
	s := open(t, url)
	var held [3]*claiming
	for range 3 {
		c := s.take(t, "pool", slots)
		held[c.grant.Slot] = c
		c.req.Ref.Key = c.req.Slots[c.grant.Slot].Key
	}
	if n := ask[int](t, url, "select count(*) from tenure.lease"); n != 3 { // H38, H39: a row each, and no more
		t.Errorf("three grants of slots wrote %d rows", n)
	}
	s.refused(t, "pool", slots)
	var waiters []*claiming
	for range 3 {
		waiters = append(waiters, open(t, url).claim(t, "pool", slots, lasting(time.Hour)).waits(t.Context()))
	}
	listens(t, url, 3)
	byItself := rests(t, url, waiters[1])
	both := []driver.Removal{{Ref: held[0].req.Ref}, {Ref: held[1].req.Ref}}
	s.Abandon(t.Context(), both) // in one statement
	waiters[0].got(prompt)
	if waiters[1].got(prompt); !waiters[1].grant.Since.Before(byItself) {
		t.Error("the second waiter was not woken for the second slot")
	}
	if waiters[0].grant.Slot == waiters[1].grant.Slot {
		t.Error("one slot was granted twice")
	}
	held[2].releases()
	waiters[2].got(prompt)
}

// TestWokenWaiterThatLeavesWakesTheNext: whoever gives up in the instant of its turn passes it on.
func TestWokenWaiterThatLeavesWakesTheNext(t *testing.T) {
	t.Parallel()
	url := database(t, server)
	a := open(t, url)
	a.take(t, "x")
	first, second := open(t, url).claim(t, "x", lasting(time.Hour)), open(t, url).claim(t, "x", lasting(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	first.waits(ctx)
	second.waits(t.Context())
	listens(t, url, 2)
	byItself := rests(t, url, second)
	cancel()
	first.ends(prompt)
	exec(t, url, "update tenure.lease set session = null, acq = null") // as if first had been woken for it
	first.abandons()
	if second.got(prompt); !second.grant.Since.Before(byItself) {
		t.Error("a waiter that left while its name was free woke nobody")
	}
}
