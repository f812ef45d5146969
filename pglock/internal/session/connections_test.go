package session

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

func once(r *driver.Request) { r.OncePer = time.Second }

// TestH29Connections: one for all locks of a process, one more for each busy name that is waited for, none of the
// application's pool.
func TestH29Connections(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v := look(t, url)
	pool, err := pgxpool.New(t.Context(), url+"&pool_max_conns=1")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	taken, err := pool.Acquire(t.Context()) // nothing is left in it
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Release()
	s := startConfig(t, pool.Config().ConnConfig, long, func(o *Options) { o.Waits = 3 })
	counted := func(want int, what string) {
		t.Helper()
		until(t, prompt, fmt.Sprint(want, " connections: ", what), func() bool { return v.connections()-1 == want })
	}
	counted(1, "of a session")
	for i := range 100 {
		s.take(t, fmt.Sprint("held ", i))
	}
	counted(1, "for a hundred locks")
	other := start(t, url, long)
	counted(2, "of two sessions")
	var holders, waiters []*caller
	for i := range 5 {
		holders = append(holders, other.take(t, fmt.Sprint("busy ", i)))
	}
	for i := range 3 {
		waiters = append(waiters, s.caller(t, fmt.Sprint("busy ", i)).waits(t.Context()))
		counted(2+i+1, "with waits")
	}
	for i := 3; i < 5; i++ {
		w := s.caller(t, fmt.Sprint("busy ", i))
		w.req.Wait = true
		if w.start(t.Context()).ends(prompt); kindOf(w.err) != "held" {
			t.Errorf("a wait beyond the bound said: %v", w.err)
		}
	}
	counted(2+3, "with as many waits as may be")
	for i, w := range waiters {
		holders[i].releases()
		w.got(prompt)
		w.releases()
	}
	if n := pool.Stat().TotalConns(); n != 1 {
		t.Errorf("%d connections in the application's pool", n)
	}
}

// TestThousandWaiters for one busy name in one process take two connections, all in all.
func TestThousandWaiters(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s, other := look(t, url), start(t, url, long), start(t, url, long)
	l := locker(t, s)
	h := other.take(t, "x")
	var callers sync.WaitGroup
	for range 1000 {
		callers.Go(func() {
			lease, err := l.Acquire(t.Context(), "x")
			if err != nil {
				t.Errorf("acquire: %v", err)
				return
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Errorf("release: %v", err)
			}
		})
	}
	until(t, prompt, "one waits in the server's queue", func() bool { return v.queue("x") == 1 })
	for range 20 {
		if n := v.connections() - 1; n != 2 { // without the other's
			t.Errorf("%d connections", n)
		}
	}
	h.releases()
	callers.Wait()
	if n := v.connections() - 1; n != 2 {
		t.Errorf("%d connections when all had it", n)
	}
}

// TestOverflow: more busy names than may be waited for are all granted, though others queue for them, within the bound.
func TestOverflow(t *testing.T) {
	t.Parallel()
	const names, waits = 30, 4
	url := server.Database(t)
	v := look(t, url)
	s := start(t, url, long, func(o *Options) { o.Waits = waits })
	l := locker(t, s)
	// Two processes that pass the names to and fro.
	var rival [2]*tenure.Locker
	for i := range rival {
		rival[i] = locker(t, start(t, url, long, func(o *Options) { o.Waits, o.Waited = names, names }))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var rivals, wanted sync.WaitGroup
	started := make(chan struct{}, 2*names)
	for i := range names {
		name := fmt.Sprint("x", i)
		for _, rival := range rival {
			rivals.Go(func() {
				for first := true; ctx.Err() == nil; {
					lease, err := rival.Acquire(ctx, name)
					if err != nil {
						continue
					}
					if first {
						started <- struct{}{}
						first = false
					}
					select {
					case <-time.After(20 * time.Millisecond):
					case <-ctx.Done():
					}
					_ = lease.Release(t.Context())
				}
			})
		}
	}
	for range 2 * names {
		<-started
	}
	most := 0
	for i := range names {
		wanted.Go(func() {
			within, end := context.WithTimeout(t.Context(), 6*prompt)
			defer end()
			lease, err := l.Acquire(within, fmt.Sprint("x", i))
			if err != nil {
				t.Errorf("acquire: %v", err)
				return
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Errorf("release: %v", err)
			}
		})
	}
	all := make(chan struct{})
	go func() { wanted.Wait(); close(all) }()
	for ended := false; !ended; {
		select {
		case <-all:
			ended = true
		case <-time.After(5 * time.Millisecond):
			most = max(most, v.count("select count(*) from pg_locks l join pg_stat_activity a using (pid) where l.locktype = 'advisory' "+
				"and not l.granted and l.database = "+thisDatabase+" and a.application_name like $1", fmt.Sprintf("%% %.8s.%%", s.info.Session)))
		}
	}
	cancel()
	rivals.Wait()
	if most > waits {
		t.Errorf("%d backends of the session waited at once, of at most %d", most, waits)
	}
	if most == 0 {
		t.Error("no backend waited: the test proves nothing")
	}
}
