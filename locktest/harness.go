package locktest

import (
	"context"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Opener opens a new session with a store, as another process would.
type Opener func(ctx context.Context) (driver.Store, error)

// Harness is how the rules come by a store. Open, Fresh or At is needed, the rest has defaults.
type Harness struct {
	// Open opens a new session with one store. All rules use that store, at once and beside whatever else uses it: they
	// take names of their own.
	Open Opener
	// Fresh, instead of Open, makes a store for one rule. With Bubble it is called inside the bubble.
	Fresh func() Opener

	// Bubble runs each rule in a testing/synctest bubble, where time costs nothing. It is for stores that live in memory.
	Bubble bool

	// TTL is that of the rules that wait for a grant to run out, and the store's own where that is fixed. Default: 10 s in
	// a bubble, else 1 s.
	TTL time.Duration
	// Prompt is how late an answer may come that is promised at once. Default: a tenth of the TTL in a bubble, else 5 s.
	Prompt time.Duration
	// Freed is how long after the end of a session (by Close, or when its process is killed) its names may stay taken.
	// Default: Prompt; give the TTL and a little more for a store that only lets them run out.
	Freed time.Duration

	// Twins are pairs of different names that have one key in this store.
	Twins [][2]string

	// Address and Reopen let other processes open the same store: the rules about killed and stopped processes run if they
	// are set, and if the test binary's TestMain calls [Main] with the same Reopen.
	Address string
	Reopen  func(address string) (driver.Store, error)

	// At, instead of Open and Address, is for a store whose TTL belongs to the session (driver.Info.FixedTTL): the address of
	// the store for sessions with that TTL. Most rules need a long one, under which nothing runs out. Reopen opens it.
	At func(ttl time.Duration) string

	// Seeds is over how many seeds the rules that bear faults run under them. Default 3.
	Seeds int
}

func (h Harness) complete(info driver.Info) Harness {
	if h.TTL == 0 {
		if h.TTL = time.Second; h.Bubble {
			h.TTL = 10 * time.Second
		}
	}
	if info.FixedTTL && h.At == nil {
		h.TTL = info.TTL
	}
	if h.Prompt == 0 {
		if h.Prompt = 5 * time.Second; h.Bubble {
			h.Prompt = h.TTL / 10
		}
	}
	if h.Freed == 0 {
		h.Freed = h.Prompt
	}
	if h.Seeds == 0 {
		h.Seeds = 3
	}
	return h
}

// opener gives the way to open sessions; with a TTL where that matters.
func (h Harness) opener() func(ctx context.Context, ttl time.Duration) (driver.Store, error) {
	open := h.Open
	switch {
	case h.At != nil:
		return func(_ context.Context, ttl time.Duration) (driver.Store, error) { return h.Reopen(h.At(ttl)) }
	case h.Fresh != nil:
		open = h.Fresh()
	}
	return func(ctx context.Context, _ time.Duration) (driver.Store, error) { return open(ctx) }
}

// address is where another process opens the store.
func (h Harness) address(ttl time.Duration) string {
	if h.At != nil {
		return h.At(ttl)
	}
	return h.Address
}

// poll is how often a rule looks whether something has come.
func (h Harness) poll() time.Duration {
	if h.Bubble {
		return h.TTL / 1000
	}
	return 3 * time.Millisecond
}
