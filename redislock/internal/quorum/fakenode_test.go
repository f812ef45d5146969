package quorum

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

const (
	fakeTTL     = 100 * time.Millisecond // of every claim, so also the largest
	fakeTimeout = 10 * time.Millisecond
	fakeEpoch   = int64(1_700_000_000_000_000) // µs
)

// scriptRules are known-bad ways in which a node could work.
type scriptRules struct {
	blindWriteBack bool // the number is written whoever has the key
	noFloor        bool // the clock is no floor of the numbers
	noRest         bool // a node grants at once after it has lost its data
}

// fakeData is what a node keeps, and may lose. Owners are indices of claims, from 1; zero is nobody.
type fakeData struct {
	owner   int
	expires driver.Instant
	last    int64
}

// fakeNode is a node in the memory of a model.
type fakeNode struct {
	rules *scriptRules
	fakeData
	saved  fakeData       // what it would have after a restart from its snapshot
	rests  driver.Instant // until then
	down   driver.Instant // until then
	offset time.Duration  // of the clock that numbers are drawn from
	rate   float64        // of the clock by which keys expire
}

// us is the node's clock.
func (n *fakeNode) us(now driver.Instant) int64 {
	return fakeEpoch + time.Duration(now).Microseconds() + n.offset.Microseconds()
}

// later is when so much has passed on the node's clock.
func (n *fakeNode) later(now driver.Instant, d time.Duration) driver.Instant {
	return now.Add(time.Duration(float64(d) / n.rate))
}

func (n *fakeNode) standing(now driver.Instant, owner int) Standing {
	switch {
	case n.owner == 0 || !now.Before(n.expires):
		return Free
	case n.owner == owner:
		return Ours
	}
	return Held
}

func (n *fakeNode) rest(now driver.Instant) bool { return now.Before(n.rests) && !n.rules.noRest }

// run executes one request.
func (n *fakeNode) run(now driver.Instant, owner int, s send) Answer {
	a := Answer{Standing: n.standing(now, owner)}
	switch s.op {
	case opAcquire:
		switch {
		case n.rest(now):
			a.Standing = Resting
		case a.Standing != Held:
			a.Standing = Ours
			a.Candidate = max(n.last+1, s.number)
			if !n.rules.noFloor {
				a.Candidate = max(a.Candidate, n.us(now))
			}
			n.last = a.Candidate
			n.owner, n.expires = owner, n.later(now, fakeTTL)
		}
	case opWriteBack:
		switch {
		case n.rules.blindWriteBack:
			n.last = max(n.last, s.number)
			a.Standing = Ours
		case n.rest(now):
			a.Standing = Resting
		case a.Standing == Ours:
			n.last = max(n.last, s.number)
		}
	case opRenew:
		if a.Standing == Ours {
			n.expires = n.later(now, fakeTTL)
		}
	case opRelease:
		if a.Standing == Ours {
			n.owner = 0
		}
	}
	return a
}
