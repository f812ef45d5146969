package quorum

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/clock"
)

// Claim is one owner's claim to a key, for one acquisition. Its methods return soon after their context ends; what is on its
// way to the nodes does not end with it.
type Claim struct {
	quorum  *Quorum
	lock    Lock
	timeout time.Duration

	mu      sync.Mutex
	state   *state
	changed chan struct{} // closed and replaced when the state has changed
}

// Claim makes a claim for an owner id that was never used before. Nothing is sent.
func (q *Quorum) Claim(lock Lock) *Claim {
	timeout := min(q.timeout, lock.TTL/10)
	return &Claim{
		quorum: q, lock: lock, timeout: timeout,
		state: newState(len(q.nodes), lock.TTL, timeout), changed: make(chan struct{}),
	}
}

// Acquire asks all nodes for the key, once in the life of the claim. Tries is how many attempts of the caller's have failed
// before, for the back-off.
//
// After success a majority holds the key, has numbered the grant, and kept its word until now. Otherwise the claim is over,
// and what is left of it is removed behind: a *driver.HeldError with a random back-off where others are in the way, or a
// fault of which nothing is unknown.
func (c *Claim) Acquire(ctx context.Context, tries int) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, passing(context.Cause(ctx))
	}
	chance := rand.Float64()
	c.do(func(now driver.Instant) { c.state.acquire(now, chance, tries) })
	attempt := &c.state.attempt
	if !c.wait(ctx, &attempt.round) {
		c.do(func(now driver.Instant) { c.state.cancel(now) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case attempt.err == nil: // also if ctx has ended since
		return driver.Grant{Number: attempt.number, Proof: driver.Proof{Sent: attempt.sent, Valid: c.lock.TTL}}, nil
	case ctx.Err() != nil:
		return driver.Grant{}, passing(fmt.Errorf("%w: %w", context.Cause(ctx), attempt.err))
	}
	return driver.Grant{}, attempt.err
}

// Renew proves the lease anew on a majority, and takes the key again, behind, on nodes that came back empty. ErrNotOurs: a
// majority says that it is not ours. After a fault nothing is proved.
func (c *Claim) Renew(ctx context.Context) (driver.Proof, error) {
	var r *round
	c.do(func(now driver.Instant) { r = c.state.renew(now) })
	if !c.wait(ctx, r) {
		return driver.Proof{}, passing(context.Cause(ctx))
	}
	if r.err != nil {
		return driver.Proof{}, r.err
	}
	return driver.Proof{Sent: r.sent, Valid: c.lock.TTL}, nil
}

// Release removes the key everywhere, whatever became of the claim so far, and may be called again and again. It returns when
// a majority has answered: nil if the key was ours there until now, ErrNotOurs if it was not. The rest is removed behind,
// until nothing can be left: a top-up that runs late does not survive it.
func (c *Claim) Release(ctx context.Context) error {
	var r *round
	c.do(func(now driver.Instant) { r = c.state.release(now) })
	if !c.wait(ctx, r) {
		return &driver.Fault{Kind: driver.Unknown, Sent: r.sent, Err: context.Cause(ctx)}
	}
	return r.err
}

// wait waits until a round is over, and says whether it is.
func (c *Claim) wait(ctx context.Context, r *round) bool {
	for {
		c.mu.Lock()
		over, changed := r.over, c.changed
		c.mu.Unlock()
		if over {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// do changes the state, and sends what it wants to be sent. The clock is read before, so before a first byte is.
func (c *Claim) do(change func(now driver.Instant)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := clock.Now()
	change(now)
	for sends := c.state.take(); len(sends) > 0; sends = c.state.take() {
		for _, s := range slices.Clone(sends) { // a refusal is an answer, and may lead to more
			if !c.start(s) {
				c.state.answer(now, s.id, Answer{}, errClosed)
			}
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
}
