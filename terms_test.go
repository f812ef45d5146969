package tenure_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/memlock"
)

// TestWithKeepsNoDefaultOfOtherOptions: those that follow from the TTL follow from the new one.
func TestWithKeepsNoDefaultOfOtherOptions(t *testing.T) {
	const short, shortMargin, longMargin = 40 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond
	for _, test := range []struct{ from, to, margin time.Duration }{{short, ttl, longMargin}, {ttl, short, shortMargin}} {
		l, err := locker(t, memory(t), tenure.Options{TTL: test.from}).With(func(o *tenure.Options) { o.TTL = test.to })
		if err != nil {
			t.Errorf("from a TTL of %v to one of %v: %v", test.from, test.to, err)
		} else if got := l.Options().Margin; got != test.margin {
			t.Errorf("from a TTL of %v to one of %v: a margin of %v, want %v", test.from, test.to, got, test.margin)
		}
	}
}

// TestMaxHoldMayBeForEver: the longest Duration does not run over the clock's end.
func TestMaxHoldMayBeForEver(t *testing.T) {
	forEver := locker(t, memory(t), tenure.Options{MaxHold: math.MaxInt64})
	brief, err := forEver.With(func(o *tenure.Options) { o.MaxHold = time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	lease := acquire(t, forEver, "x")
	ended := acquire(t, brief, "y")
	<-ended.Done() // by now, what was due before has been looked at
	_ = ended.Release(t.Context())
	if err := lease.Err(); err != nil {
		t.Error(err)
	}
	release(t, lease)
}

// brittle is a store whose word is good for less than the TTL.
type brittle struct {
	*memlock.Store
	valid time.Duration
}

func (b brittle) Info() driver.Info {
	info := b.Store.Info()
	info.Valid = func(driver.Terms) time.Duration { return b.valid }
	return info
}

// TestH9TermsAreJudgedByWhatAProofIsGoodFor: a TTL that would do is refused where the store keeps its word for too short a
// time to renew and try again.
func TestH9TermsAreJudgedByWhatAProofIsGoodFor(t *testing.T) {
	for valid, fine := range map[time.Duration]bool{100 * time.Millisecond: false, time.Second: true} {
		_, err := tenure.New(brittle{memory(t), valid}, tenure.Options{TTL: ttl})
		if fine != (err == nil) || !fine && !errors.Is(err, tenure.ErrInvalid) {
			t.Errorf("proofs that are good for %v: %v", valid, err)
		}
	}
}
