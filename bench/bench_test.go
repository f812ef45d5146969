package bench

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkAlone is one caller and one name that nobody else wants.
func BenchmarkAlone(b *testing.B) { each(b, 1) }

// BenchmarkMany is callers in one process, with a name each.
func BenchmarkMany(b *testing.B) {
	for _, callers := range []int{50, 500} {
		b.Run(perCaller(callers), func(b *testing.B) { each(b, callers) })
	}
}

func each(b *testing.B, callers int) {
	duel(b, callers,
		tenureTries(b, callers),
		bsmTries(b, callers),
		redsyncTries(b, callers),
		rueidisTries(b, callers, false),
		rueidisTries(b, callers, true),
		postgresTries(b, callers),
	)
}

// sessions is how many callers want one name, each as a process of its own would: with its own connections.
const sessions = 50

// BenchmarkBusy is one name that many want, and hold for no time.
func BenchmarkBusy(b *testing.B) {
	b.Run("sessions=50", func(b *testing.B) {
		duel(b, sessions,
			tenureWaits(b, redisServer.Address(), "busy", sessions),
			rueidisWaits(b, sessions, false),
			rueidisWaits(b, sessions, true),
			postgresWaits(b, sessions),
		)
	})
}

// BenchmarkHold is one name that many want, and hold for 5 ms each. A queue that is fair and costs nothing has everybody wait
// for the holds of all the others, and gives all of them as many leases. It reports, for each rival:
//
//	…-p99       the 99th percentile of the waits, over the median of the holds times the number of those who wait
//	…-max       the longest wait, over the same
//	…-least     how many leases the caller with the fewest of them got
//	…-most      and the one with the most
//	…-hold-ms   the median of the holds, as they were measured
//	…-ms        the time between two leases: the hold, and the hand-over
//
// A turn is 5 times -turn, and no wait is longer than that: with rivals that are not fair, longer turns show longer waits.
func BenchmarkHold(b *testing.B) {
	const hold = 5 * time.Millisecond
	rivals := []rival{
		tenureWaits(b, redisServer.Address(), "hold", sessions),
		rueidisWaits(b, sessions, false),
		rueidisWaits(b, sessions, true),
		postgresWaits(b, sessions),
	}
	length := 5 * *turn
	for _, r := range rivals {
		turnOf(r, sessions, 0, *turn/4)
	}
	totals := make([]work, len(rivals))
	b.ResetTimer()
	for range b.N {
		for round := range rounds {
			for i := range rivals {
				i = (i + round) % len(rivals)
				totals[i].add(turnOf(rivals[i], sessions, hold, length))
			}
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	for i, r := range rivals {
		w := &totals[i]
		failures(b, r, w)
		if w.leases == 0 {
			b.Errorf("%s got no lease", r.name)
			continue
		}
		fair := float64(sessions * median(w.holds))
		b.ReportMetric(float64(quantile(w.waits, 0.99))/fair, r.name+"-p99")
		b.ReportMetric(float64(slices.Max(w.waits))/fair, r.name+"-max")
		b.ReportMetric(float64(slices.Min(w.each)), r.name+"-least")
		b.ReportMetric(float64(slices.Max(w.each)), r.name+"-most")
		b.ReportMetric(median(w.holds).Seconds()*1000, r.name+"-hold-ms")
		b.ReportMetric(w.perLease().Seconds()*1000, r.name+"-ms")
	}
}
