package proof

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// Interval is the time for which one lease was trusted: from From on, and before To.
type Interval struct {
	Name     string
	Client   string
	Token    tenure.Token
	Mode     driver.Mode
	From, To Instant
}

// String gives the interval for people: `"stock" token 256, exclusive, of a.1: [10, 900)`.
func (i Interval) String() string {
	to := "…"
	if i.To != Never {
		to = fmt.Sprint(i.To)
	}
	return fmt.Sprintf("%q token %v, %v, of %s: [%d, %s)", i.Name, i.Token, i.Mode, i.Client, i.From, to)
}

// Overlap is two leases that were trusted at once and may not be.
type Overlap struct {
	Earlier, Later Interval
}

// String names both.
func (o Overlap) String() string {
	return fmt.Sprintf("two leases were trusted at once, from %d to %d:\n\t%v\n\t%v",
		o.Later.From, min(o.Earlier.To, o.Later.To), o.Earlier, o.Later)
}

// Intervals gives the time for which each lease was trusted, ordered by its beginning. A lease is trusted from when its
// acquisition returned, until the first of these: its holder began to release it, was told that it was lost, or was
// killed; the end of trust that was last observed; the store was made to forget it (that is the store's word broken, and
// the promise rests on the word). With none of them it is trusted for ever.
func Intervals(h History) []Interval {
	var all []*Interval
	granted := make(map[leaseID][]*Interval) // more than one only if a token was issued twice
	for i := range h {
		if op := &h[i]; op.Granted() {
			interval := &Interval{op.Name, op.Client, op.Token, op.Mode, op.Return, Never}
			all = append(all, interval)
			granted[op.lease()] = append(granted[op.lease()], interval)
		}
	}
	for lease, until := range deadlines(h) {
		for _, interval := range granted[lease] {
			interval.end(until)
		}
	}
	for i := range h {
		switch op := &h[i]; op.Verb {
		case Lost, Release:
			for _, interval := range granted[op.lease()] {
				interval.end(op.Call)
			}
		case Kill:
			for _, interval := range all {
				if strings.HasPrefix(interval.Client, op.Name) {
					interval.end(op.Call)
				}
			}
		case Lose:
			for _, interval := range all {
				if interval.Name == op.Name && interval.From <= op.Return {
					interval.end(op.Call)
				}
			}
		}
	}
	intervals := make([]Interval, 0, len(all))
	for _, interval := range all {
		if interval.From < interval.To {
			intervals = append(intervals, *interval)
		}
	}
	slices.SortStableFunc(intervals, func(a, b Interval) int { return cmp.Compare(a.From, b.From) })
	return intervals
}

// leaseID is how the operations of one lease are known to belong together.
type leaseID struct {
	name  string
	token tenure.Token
}

func (o *Op) lease() leaseID { return leaseID{o.Name, o.Token} }

// deadlines gives the last end of trust that was observed of each lease.
func deadlines(h History) map[leaseID]Instant {
	until := make(map[leaseID]Instant)
	for i := range h {
		if op := &h[i]; (op.Granted() || op.Verb == Renew) && op.Until != Never {
			until[op.lease()] = max(until[op.lease()], op.Until)
		}
	}
	return until
}

func (i *Interval) end(at Instant) { i.To = min(i.To, at) }

// Overlaps sweeps over intervals that are ordered by their beginning, and gives every pair of one name that was trusted
// at once, unless both were shared.
func Overlaps(intervals []Interval) []Overlap {
	var found []Overlap
	live := make(map[string][]Interval)
	for _, next := range intervals {
		still := slices.DeleteFunc(live[next.Name], func(i Interval) bool { return i.To <= next.From })
		for _, i := range still {
			if i.Mode == driver.Exclusive || next.Mode == driver.Exclusive {
				found = append(found, Overlap{i, next})
			}
		}
		live[next.Name] = append(still, next)
	}
	return found
}

// CheckOverlap says which leases were trusted at once and may not be.
func CheckOverlap(h History) error {
	var faults []error
	for _, overlap := range Overlaps(Intervals(h)) {
		faults = append(faults, errors.New(overlap.String()))
	}
	return errors.Join(faults...)
}
