package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	// rounds is how many turns each rival gets.
	rounds = 7
	// patience is how long after the end of a turn a caller may take to finish: it may be stuck.
	patience = 3 * time.Second
)

// work is what the callers of one rival did in a turn, or in several.
type work struct {
	leases  int
	took    time.Duration // until the last lease was given back
	failed  int
	failure error           // one of them
	waits   []time.Duration // for each lease
	holds   []time.Duration // the same
	each    []int           // leases by caller
}

func (w *work) add(v *work) {
	w.leases, w.took, w.failed = w.leases+v.leases, w.took+v.took, w.failed+v.failed
	w.waits, w.holds = append(w.waits, v.waits...), append(w.holds, v.holds...)
	if v.failure != nil {
		w.failure = v.failure
	}
	w.each = append(w.each, make([]int, max(0, len(v.each)-len(w.each)))...)
	for caller, leases := range v.each {
		w.each[caller] += leases
	}
}

// perLease is the time that a lease took, with all callers at work; the longest there is if there was none.
func (w *work) perLease() time.Duration {
	if w.leases == 0 {
		return patience
	}
	return w.took / time.Duration(w.leases)
}

// turnOf has the callers acquire, hold and give back until the time is up.
func turnOf(r rival, callers int, hold, length time.Duration) *work {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := time.Now()
	ends := began.Add(length)
	defer time.AfterFunc(length+patience, cancel).Stop() // not a deadline, which rivals would heed in what they ask for
	var group sync.WaitGroup
	works := make([]work, callers)
	for caller := range callers {
		group.Go(func() {
			w := &works[caller]
			for now := time.Now(); now.Before(ends) && ctx.Err() == nil; now = time.Now() {
				release, err := r.acquire(ctx, caller)
				if err == nil && hold > 0 {
					got := time.Now()
					time.Sleep(hold)
					w.waits, w.holds = append(w.waits, got.Sub(now)), append(w.holds, time.Since(got))
				}
				if err == nil {
					err = release()
				}
				if err != nil {
					w.failed, w.failure = w.failed+1, err
					continue
				}
				w.leases++
				w.took = time.Since(began)
			}
		})
	}
	group.Wait()
	sum := &work{each: make([]int, callers)}
	for caller := range works {
		w := &works[caller]
		sum.each[caller] = w.leases
		sum.took = max(sum.took, w.took)
		w.took = 0
		sum.add(w)
	}
	return sum
}

// duel gives the rivals, of which Tenure is the first, their turns, and reports.
func duel(b *testing.B, callers int, rivals ...rival) {
	b.Helper()
	times := make([][]time.Duration, len(rivals)) // by rival, then by round
	totals := make([]work, len(rivals))
	for _, r := range rivals { // connections are opened, statements prepared, scripts loaded
		turnOf(r, callers, 0, *turn/4)
	}
	b.ResetTimer()
	for range b.N {
		for round := range rounds {
			for i := range rivals {
				i = (i + round) % len(rivals) // nobody always comes after the same rest, or first
				if round%2 == 1 {
					i = len(rivals) - 1 - i
				}
				w := turnOf(rivals[i], callers, 0, *turn)
				times[i] = append(times[i], w.perLease())
				totals[i].add(w)
			}
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	fastest := 1
	for i, r := range rivals {
		b.ReportMetric(float64(median(times[i]).Nanoseconds())/1000, r.name+"-µs")
		failures(b, r, &totals[i])
		if i > 0 && median(times[i]) < median(times[fastest]) {
			fastest = i
		}
	}
	var ratios []float64
	for round, ours := range times[0] {
		ratios = append(ratios, float64(times[fastest][round])/float64(ours))
	}
	b.ReportMetric(float64(median(times[fastest]))/float64(median(times[0])), "x")
	b.ReportMetric(slices.Min(ratios), "x-min")
	b.ReportMetric(slices.Max(ratios), "x-max")
	b.Logf("x is against %s, the fastest of the others", rivals[fastest].name)
}

// failures reports what failed; of Tenure, nothing may.
func failures(b *testing.B, r rival, w *work) {
	b.Helper()
	if w.failed == 0 {
		return
	}
	b.ReportMetric(float64(w.failed), r.name+"-failed")
	say := b.Logf
	if r.name == "tenure" {
		say = b.Errorf
	}
	say("%s failed %d times beside %d leases; one time: %v", r.name, w.failed, w.leases, w.failure)
}

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(d)-1, int(q*float64(len(d))))]
}

func perCaller(callers int) string { return fmt.Sprintf("callers=%d", callers) }
