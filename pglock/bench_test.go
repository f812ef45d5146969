package pglock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
)

// The benchmarks run the same work beside bare pgx, in turns within one run, and report how many times as fast Tenure is:
// the ratio of the medians ("x"), and the lowest and highest ratio of a pair of turns. Bare has no tokens, no trust, no
// clean-up.
//
//	go test -run '^$' -bench . ./pglock

// rounds is how many turns each of the rivals gets.
const rounds = 7

// duel lets two rivals do n things in turns.
func duel(b *testing.B, n int, bare, ours func(n int)) {
	b.Helper()
	bare(n / 4) // statements are prepared, connections are open
	ours(n / 4)
	var theirs, mine []time.Duration
	timed := func(f func(int)) time.Duration {
		began := time.Now()
		f(n)
		return time.Since(began) / time.Duration(n)
	}
	b.ResetTimer()
	for range b.N {
		for round := range rounds {
			if round%2 == 0 {
				theirs, mine = append(theirs, timed(bare)), append(mine, timed(ours))
			} else {
				mine, theirs = append(mine, timed(ours)), append(theirs, timed(bare))
			}
		}
	}
	b.StopTimer()
	var ratios []float64
	for i := range mine {
		ratios = append(ratios, float64(theirs[i])/float64(mine[i]))
	}
	median := func(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(theirs).Nanoseconds())/1000, "bare-µs")
	b.ReportMetric(float64(median(mine).Nanoseconds())/1000, "µs")
	b.ReportMetric(float64(median(theirs))/float64(median(mine)), "x")
	b.ReportMetric(slices.Min(ratios), "x-min")
	b.ReportMetric(slices.Max(ratios), "x-max")
}

// split has so many callers share n things.
func split(callers, n int, do func(caller, n int)) {
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() { do(caller, n/callers) })
	}
	group.Wait()
}

const (
	tryBare    = "select pg_try_advisory_lock($1)"
	waitBare   = "select pg_advisory_lock($1)"
	unlockBare = "select pg_advisory_unlock($1)"
)

func bareConn(b *testing.B, url string) *pgx.Conn {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func bareOnce(b *testing.B, conn *pgx.Conn, key int64) {
	var got bool
	if err := conn.QueryRow(context.Background(), tryBare, key).Scan(&got); err != nil || !got {
		b.Errorf("try: %v, %v", got, err)
	}
	if err := conn.QueryRow(context.Background(), unlockBare, key).Scan(&got); err != nil || !got {
		b.Errorf("unlock: %v, %v", got, err)
	}
}

func openLocker(b *testing.B, url string, change func(*tenure.Options)) *tenure.Locker {
	b.Helper()
	store, err := pglock.Open(b.Context(), url, pglock.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close(context.Background()) })
	var opts tenure.Options
	change(&opts)
	locker, err := tenure.New(store, opts)
	if err != nil {
		b.Fatal(err)
	}
	return locker
}

func plain(*tenure.Options) {}

func tryOnce(b *testing.B, locker *tenure.Locker, name string) {
	ctx := context.Background()
	lease, err := locker.TryAcquire(ctx, name)
	if err != nil {
		b.Error(err)
		return
	}
	if err := lease.Release(ctx); err != nil {
		b.Error(err)
	}
}

// BenchmarkAlone: one caller, one name nobody else wants.
func BenchmarkAlone(b *testing.B) {
	url := pglock.SharedServer.Database(b)
	conn, locker := bareConn(b, url), openLocker(b, url, plain)
	duel(b, 4000, func(n int) {
		for range n {
			bareOnce(b, conn, 1)
		}
	}, func(n int) {
		for range n {
			tryOnce(b, locker, "alone")
		}
	})
}

// BenchmarkMany: callers with a name each. Bare, they share a pool of 50 connections, and each has one to itself for as long
// as it holds; Tenure's share one connection.
func BenchmarkMany(b *testing.B) {
	for _, callers := range []int{50, 500} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			url := pglock.SharedServer.Database(b)
			config, err := pgxpool.ParseConfig(url)
			if err != nil {
				b.Fatal(err)
			}
			config.MaxConns = 50
			pool, err := pgxpool.NewWithConfig(b.Context(), config)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(pool.Close)
			locker := openLocker(b, url, plain)
			duel(b, 10_000, func(n int) {
				split(callers, n, func(caller, n int) {
					for range n {
						conn, err := pool.Acquire(context.Background())
						if err != nil {
							b.Error(err)
							return
						}
						bareOnce(b, conn.Conn(), int64(caller))
						conn.Release()
					}
				})
			}, func(n int) {
				split(callers, n, func(caller, n int) {
					name := fmt.Sprint("many/", caller)
					for range n {
						tryOnce(b, locker, name)
					}
				})
			})
		})
	}
}

// BenchmarkBusy: 50 callers want one name. Bare, each waits in the server's queue on a connection of its own; Tenure's are 50
// processes' sessions, which do the same, or callers of one process, which hand the name on among themselves.
func BenchmarkBusy(b *testing.B) {
	const callers = 50
	for _, sessions := range []int{callers, 1} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			url := pglock.SharedServer.Database(b)
			var conns []*pgx.Conn
			var lockers []*tenure.Locker
			for range callers {
				conns = append(conns, bareConn(b, url))
			}
			for range sessions {
				lockers = append(lockers, openLocker(b, url, plain))
			}
			duel(b, 10_000, func(n int) {
				split(callers, n, func(caller, n int) {
					conn := conns[caller]
					for range n {
						if _, err := conn.Exec(context.Background(), waitBare, int64(1)); err != nil {
							b.Error(err)
						}
						if _, err := conn.Exec(context.Background(), unlockBare, int64(1)); err != nil {
							b.Error(err)
						}
					}
				})
			}, func(n int) {
				split(callers, n, func(caller, n int) {
					for range n {
						lease, err := lockers[caller%sessions].Acquire(context.Background(), "busy")
						if err != nil {
							b.Error(err)
							return
						}
						if err := lease.Release(context.Background()); err != nil {
							b.Error(err)
						}
					}
				})
			})
		})
	}
}
