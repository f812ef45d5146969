package proof

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// client is one caller, which does one thing after the other.
type client struct {
	t      *torture
	home   *session
	rng    *rand.Rand
	log    *Client
	writes int
}

func newClient(t *torture, home *session, number int) *client {
	return &client{
		t:    t,
		home: home,
		rng:  t.random(uint64(home.number)<<16 + uint64(number)),
		log:  t.recorder.Client(fmt.Sprintf("%d/%d", home.number, number)),
	}
}

// step does one thing.
func (c *client) step(ctx context.Context) {
	locker := c.home.locker(c.rng)
	name := c.t.Names[c.rng.IntN(len(c.t.Names))]
	features := c.t.info.Features
	switch dice := c.rng.IntN(100); {
	case dice < 25:
		c.acquire(ctx, locker, name, driver.Exclusive, true, c.work)
	case dice < 40:
		c.acquire(ctx, locker, name, driver.Exclusive, false, c.work)
	case dice < 52 && features.Has(driver.CanShare):
		c.acquire(ctx, locker.Shared(), name, driver.Shared, dice < 48, c.look)
	case dice < 64 && features.Has(driver.CanSlots):
		c.acquire(ctx, locker.Slots(c.t.Slots), group, driver.Exclusive, dice < 60, c.work)
	case dice < 80:
		c.do(ctx, locker, name)
	case dice < 90:
		c.all(ctx, locker)
	case dice < 95:
		c.acquire(ctx, locker, name, driver.Exclusive, true, func(ctx context.Context, lease *tenure.Lease) {
			other := c.t.Names[c.rng.IntN(len(c.t.Names))]
			c.acquire(ctx, c.home.locker(c.rng), other, driver.Exclusive, false, c.work) // only a try: a wait could be for itself
		})
	default:
		c.read(ctx, name)
		wait(ctx, c.pause())
	}
}

// pause is short mostly, and longer than a TTL now and then.
func (c *client) pause() time.Duration {
	d := int64(c.t.pace())
	switch dice := c.rng.IntN(30); {
	case dice == 0:
		d *= 60
	case dice < 7:
		return 0
	}
	return time.Duration(c.rng.Int64N(d + 1))
}

// patience is a context for one wait: long enough mostly, short at times, over already now and then.
func (c *client) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	switch c.rng.IntN(12) {
	case 0:
		ended, cancel := context.WithCancel(ctx)
		cancel()
		return ended, cancel
	case 1, 2, 3:
		return context.WithTimeout(ctx, c.pause())
	}
	return context.WithTimeout(ctx, c.t.ttl())
}

// acquire gets a lease, works under it, and gives it back.
func (c *client) acquire(ctx context.Context, locker *tenure.Locker, name string, mode driver.Mode, waits bool, work func(context.Context, *tenure.Lease)) {
	limited, cancel := c.patience(ctx)
	defer cancel()
	ask := locker.Acquire
	if !waits {
		ask = locker.TryAcquire
	}
	op := c.call(name, mode)
	began := c.t.Clock()
	lease, err := ask(limited, name)
	c.punctual(limited, began, waits, locker, err)
	if err != nil {
		c.refused(op, err)
		c.idle(ctx)
		return
	}
	c.granted(op, lease)
	work(lease.Context(ctx), lease)
	c.release(ctx, lease)
}

// punctual says whether an answer came when it should have.
func (c *client) punctual(limited context.Context, began Instant, waits bool, locker *tenure.Locker, err error) {
	now := c.t.Clock()
	slack := Instant(c.t.slack())
	if end, ok := limited.Deadline(); ok && limited.Err() != nil {
		if late := Instant(time.Since(end)); late > slack {
			c.t.fail("%s: an acquisition ended %v after its context: %w", c.log.name, time.Duration(late), err)
		}
	}
	if limit := Instant(min(5*time.Second, locker.Options().TTL/3)); !waits && now-began > limit+slack {
		c.t.fail("%s: TryAcquire took %v: %w", c.log.name, time.Duration(now-began), err)
	}
}

func (c *client) call(name string, mode driver.Mode) *Op {
	return c.log.Call(Op{Verb: Acquire, Name: name, Mode: mode, Until: Never})
}

// granted records a lease. The end of its trust is read before the return is, so it is known of every lease that is.
func (c *client) granted(op *Op, lease *tenure.Lease) {
	until := c.log.until(lease)
	c.log.Return(op, func(op *Op) {
		op.Name, op.Token, op.Until, op.Outcome = lease.Name(), lease.Token(), until, OK
	})
}

// refused records why there is no lease, and complains where there is no good reason.
func (c *client) refused(op *Op, err error) {
	outcome := ""
	for _, known := range []struct {
		err  error
		word string
	}{
		{tenure.ErrClosed, "closed"},
		{context.DeadlineExceeded, "late"},
		{context.Canceled, "cancelled"},
		{tenure.ErrUnknown, "unknown"},
		{tenure.ErrUnavailable, "unavailable"},
		{tenure.ErrHeld, "held"},
	} {
		if errors.Is(err, known.err) {
			outcome = known.word
			break
		}
	}
	if outcome == "" {
		c.t.fail("%s: acquiring %q failed for no good reason: %w", c.log.name, op.Name, err)
		outcome = "failed"
	}
	c.log.Return(op, func(op *Op) { op.Outcome = outcome })
}

// idle is what comes between a refusal and the next try.
func (c *client) idle(ctx context.Context) {
	wait(ctx, c.pause())
	c.home.isBack(ctx)
}

// work writes to what the lease protects, as a holder does that looks before it writes and may be late all the same.
func (c *client) work(ctx context.Context, lease *tenure.Lease) {
	for range 1 + c.rng.IntN(3) {
		wait(ctx, c.pause())
		if c.rng.IntN(3) > 0 && c.home.busy.Load() {
			wait(ctx, 3*c.t.ttl()) // it works on until it is told that it has lost
		}
		fence := lease.Fence()
		if fence.IsZero() {
			c.ended(ctx, lease)
			return
		}
		if c.rng.IntN(8) == 0 {
			wait(context.WithoutCancel(ctx), c.pause()) // between the look and the write nobody can look
		}
		c.write(ctx, fence)
		if c.rng.IntN(2) == 0 {
			c.read(ctx, lease.Name())
		}
	}
}

// look is what a reader does.
func (c *client) look(ctx context.Context, lease *tenure.Lease) {
	wait(ctx, c.pause())
	c.read(ctx, lease.Name())
}

// ended looks whether a lease that is over says so everywhere.
func (c *client) ended(ctx context.Context, lease *tenure.Lease) {
	err := lease.Err()
	if !errors.Is(err, tenure.ErrLost) && !errors.Is(err, tenure.ErrReleased) {
		c.t.fail("%s: the lease of %q with token %v has no fence, and its error is %w", c.log.name, lease.Name(), lease.Token(), err)
	}
	select {
	case <-lease.Done():
	default:
		c.t.fail("%s: the lease of %q with token %v has an error, and is not done", c.log.name, lease.Name(), lease.Token())
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.t.slack())
	defer cancel()
	select {
	case <-ctx.Done():
	case <-limited.Done():
		c.t.fail("%s: the lease of %q with token %v is over, and its context is not", c.log.name, lease.Name(), lease.Token())
	}
}

func (c *client) write(ctx context.Context, fence tenure.Fence) {
	c.writes++
	value := c.log.name + "-" + strconv.Itoa(c.writes)
	op := c.log.Call(Op{Verb: Write, Name: fence.Name, Token: fence.Token, Value: value})
	err := c.t.Resource.Write(context.WithoutCancel(ctx), fence, value)
	var stale *tenure.StaleError
	switch {
	case err == nil:
		c.log.Return(op, func(op *Op) { op.Outcome = OK })
	case errors.As(err, &stale):
		c.log.Return(op, func(op *Op) { op.Outcome, op.Newest = Stale, stale.Newest })
	default:
		c.t.fail("%s: writing: %w", c.log.name, err)
	}
}

func (c *client) read(ctx context.Context, name string) {
	op := c.log.Call(Op{Verb: Read, Name: name})
	value, token, err := c.t.Resource.Read(context.WithoutCancel(ctx), name)
	if err != nil {
		c.t.fail("%s: reading: %w", c.log.name, err)
		return
	}
	c.log.Return(op, func(op *Op) { op.Value, op.Token, op.Outcome = value, token, OK })
}

// wait waits, and says whether ctx let it.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
