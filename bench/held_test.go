//go:build unix

package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/internal/servers"
)

// BenchmarkHeld holds 100,000 leases in one process for 20 s, with the default TTL of 30 s. It reports what keeping them takes:
//
//	client-cpu-%  the share of one core that the process that holds them had
//	server-cpu-%  the same, of the server
//	scripts/s     that were sent
//	acquire-µs    the time that one took, with 500 callers
//	lost          leases that ended meanwhile; not reported if there were none
func BenchmarkHeld(b *testing.B) {
	const many, callers, look = 100_000, 500, 20 * time.Second
	server := servers.StartRedis(b, servers.RedisOptions{})
	locker := open(b, server.Address())
	leases := make(tenure.Leases, many)
	share := func(do func(i int) error) {
		var next atomic.Int64
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				for i := next.Add(1) - 1; i < many; i = next.Add(1) - 1 {
					if err := do(int(i)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
	}
	for range b.N {
		began := time.Now()
		share(func(i int) (err error) {
			leases[i], err = locker.TryAcquire(b.Context(), fmt.Sprintf("held/%06d", i))
			return err
		})
		if b.Failed() {
			return
		}
		b.ReportMetric(float64(time.Since(began).Microseconds())/many, "acquire-µs")
		runtime.GC() // what acquiring left behind is not keeping's
		used := cpu(b)
		did := watch(b, server, look)
		took := did.took.Seconds()
		b.ReportMetric(100*(cpu(b)-used).Seconds()/took, "client-cpu-%")
		b.ReportMetric(100*did.cpu/took, "server-cpu-%")
		b.ReportMetric(float64(did.scripts())/took, "scripts/s")
		b.Logf("a second: %s", did.per(took))
		lost, why := 0, error(nil)
		for _, lease := range leases {
			if err := lease.Err(); err != nil {
				lost, why = lost+1, err
			}
		}
		if lost > 0 {
			b.ReportMetric(float64(lost), "lost")
			b.Errorf("%d leases are lost, one of them since %v", lost, why)
			return
		}
		share(func(i int) error { return leases[i].Release(context.Background()) })
	}
	b.ReportMetric(0, "ns/op")
}

// cpu is the time on processors that this process had.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
