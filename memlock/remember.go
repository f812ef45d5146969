package memlock

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

// run is the last grant of a name to a request with OncePer or Gap. It outlives the lease, and goes once it is older
// than the longest period that anybody asked for.
type run struct {
	ns     int64 // wall clock since 1970
	holder driver.Holder
}

func (r *run) at() time.Time { return time.Unix(0, r.ns) }

func (r *run) past(wall int64, longest time.Duration) bool { return r.ns+int64(longest) <= wall }

// allows says whether the last run is long enough ago, else with the *DoneError or *HeldError that says until when.
func (t *turn) allows(p *place, oncePer, gap time.Duration) error {
	if oncePer <= 0 && gap <= 0 {
		return nil
	}
	t.memory.longest = max(t.memory.longest, oncePer, gap)
	if p.run == nil {
		return nil
	}
	if next, done := p.run.doneUntil(t.wall(), oncePer); done {
		return &driver.DoneError{Last: p.run.at(), Next: next}
	}
	if left := p.gapLeft(t.wall(), gap); left > 0 {
		return &driver.HeldError{Holder: p.run.holder, RetryAfter: left, Gap: true}
	}
	return nil
}

// doneUntil says when the period ends in which this run was, if that is the current one. A run of a later period, which
// a clock set back leaves behind, counts as well: granting again could repeat a period whose own run was overwritten.
func (r *run) doneUntil(wall int64, oncePer time.Duration) (time.Time, bool) {
	if oncePer <= 0 {
		return time.Time{}, false
	}
	period := r.ns / int64(oncePer)
	return time.Unix(0, (period+1)*int64(oncePer)), period >= wall/int64(oncePer)
}

// gapLeft is how long a gap after the last run still lasts.
func (p *place) gapLeft(wall int64, gap time.Duration) time.Duration {
	if p.run == nil || gap <= 0 {
		return 0
	}
	return max(0, time.Duration(p.run.ns+int64(gap)-wall))
}
