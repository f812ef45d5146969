package redislock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/redislock"
)

// load is several sessions that take one name in turns. It sees whether the tokens rise, and whether two trust the name at once.
type load struct {
	t     testing.TB
	stop  context.CancelFunc
	group sync.WaitGroup

	mu       sync.Mutex
	leases   []int                 // of each session
	seen     map[tenure.Token]bool // all tokens
	last     tenure.Token          // the highest
	floor    tenure.Token          // of what was granted before a failover may have lost a lock
	lossy    bool                  // such a one has been, or is going on
	holder   *tenure.Lease         // not given back yet
	overlaps int                   // while lossy
	at       time.Time             // of the latest lease
	pause    time.Duration         // the longest without any, since goesOn was last called
}

// underLoad starts it, until the test ends.
func underLoad(t testing.TB, url, name string, sessions int, opts redislock.Options) *load {
	t.Helper()
	l := &load{t: t, leases: make([]int, sessions), seen: make(map[tenure.Token]bool)}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	for i := range sessions {
		locker := lockerOf(t, open(t, url, opts), nil)
		l.group.Go(func() {
			for ctx.Err() == nil {
				before := l.highest()
				lease, err := locker.Acquire(ctx, name)
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("acquire %q: %v", name, err)
						return
					}
					continue
				}
				l.enters(i, lease, before)
				l.leaves(lease)
				_ = lease.Release(context.Background()) // it may have been lost
			}
		})
	}
	t.Cleanup(l.ends)
	return l
}

func (l *load) highest() tenure.Token {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// enters judges a lease whose asking began when before was the highest token.
func (l *load) enters(session int, lease *tenure.Lease, before tenure.Token) {
	l.mu.Lock()
	defer l.mu.Unlock()
	token := lease.Token()
	if l.seen[token] {
		l.t.Errorf("token %v was granted twice", token)
	}
	if token <= max(before, l.floor) {
		l.t.Errorf("token %v was granted after %v", token, max(before, l.floor))
	}
	if prev := l.holder; prev != nil && prev.Err() == nil && lease.Err() == nil {
		if l.overlaps++; !l.lossy {
			l.t.Errorf("tokens %v and %v are trusted at once", prev.Token(), token)
		}
	}
	// While a lease is trusted, and no lock was lost, whoever was granted later is not here yet.
	if !l.lossy && lease.Err() == nil && token <= l.last {
		l.t.Errorf("token %v is trusted after %v", token, l.last)
	}
	l.seen[token], l.last, l.holder = true, max(l.last, token), lease
	now := time.Now()
	if !l.at.IsZero() {
		l.pause = max(l.pause, now.Sub(l.at))
	}
	l.at = now
	l.leases[session]++
}

func (l *load) leaves(lease *tenure.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder == lease {
		l.holder = nil
	}
}

// mayLose says that from now on the store may lose locks.
func (l *load) mayLose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lossy, l.floor = true, l.last
}

// goesOn waits until every session has had some leases from now on. After that what a failover has lost is over.
func (l *load) goesOn(within time.Duration) {
	l.t.Helper()
	const enough = 5
	began := time.Now()
	l.mu.Lock()
	before := append([]int(nil), l.leases...)
	l.mu.Unlock()
	least := func() (least int, all string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		least = enough
		for i, n := range l.leases {
			least = min(least, n-before[i])
		}
		return least, fmt.Sprint(before, " ", l.leases)
	}
	for {
		had, all := least()
		if had >= enough {
			break
		}
		if time.Since(began) > within {
			l.t.Fatalf("not every session had %d leases in %v: %s", enough, within, all)
		}
		time.Sleep(5 * time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Logf("all go on after %v, nobody had a lease for %v; %d leases, %d overlaps", time.Since(began).Round(time.Millisecond),
		l.pause.Round(time.Millisecond), len(l.seen), l.overlaps)
	if l.pause > within {
		l.t.Errorf("nobody had a lease for %v", l.pause)
	}
	l.lossy, l.pause = false, 0
}

func (l *load) ends() {
	l.stop()
	l.group.Wait()
}
