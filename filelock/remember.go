package filelock

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

func (a *ask) remembers() bool { return a.req.OncePer > 0 || a.req.Gap > 0 }

// remembered refuses a request that has run recently enough. It is asked before a wait, so that nobody waits in vain, and
// again under the lock, where the record cannot change.
func (a *ask) remembered(rec record, now time.Time) error {
	if rec.ran == 0 {
		return nil
	}
	ran := time.Unix(0, rec.ran)
	if per := a.req.OncePer; per > 0 {
		// A clock that was set back into the period before must not make it run twice (H61). One that was further ahead
		// once must not block it for ever.
		if last, current := period(ran, per), period(now, per); last == current || last == current+1 {
			return &driver.DoneError{Last: ran, Next: time.Unix(0, (last+1)*int64(per))}
		}
	}
	if gap := a.req.Gap; gap > 0 {
		if since := now.Sub(ran); since < gap && since > -gap { // the same, for a clock that was set back
			return &driver.HeldError{Gap: true, RetryAfter: min(gap-since, gap), Holder: rec.runner()}
		}
	}
	return nil
}

// runner is who made the run that is remembered; empty where somebody who asked for no memory has held the name since.
func (r record) runner() driver.Holder {
	if h := r.last(); h.Since.UnixNano() == r.ran {
		return h
	}
	return driver.Holder{}
}

// period counts periods since 1970.
func period(at time.Time, length time.Duration) int64 {
	ns, each := at.UnixNano(), int64(length)
	count := ns / each
	if ns%each < 0 {
		count--
	}
	return count
}
