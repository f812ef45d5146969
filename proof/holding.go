package proof

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

var errDeliberate = errors.New("a failure of the work, on purpose")

// release gives a lease back, at times under a context that is over, at times twice.
func (c *client) release(ctx context.Context, lease *tenure.Lease) {
	if c.rng.IntN(4) == 0 {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		ctx = ended
	}
	op := c.releasing(lease)
	err := lease.Release(ctx)
	c.released(op, err)
	if lease.Err() == nil || !lease.Fence().IsZero() {
		c.t.fail("%s: after Release of %q its error is %v and its fence %v", c.log.name, lease.Name(), lease.Err(), lease.Fence())
	}
	if c.rng.IntN(6) == 0 {
		again := lease.Release(ctx)
		if want := tenure.ErrReleased; err == nil && !errors.Is(again, want) || !errors.Is(again, want) && !errors.Is(again, tenure.ErrLost) {
			c.t.fail("%s: Release of %q said %v, and then %v", c.log.name, lease.Name(), err, again)
		}
	}
}

func (c *client) releasing(lease *tenure.Lease) *Op {
	return c.log.Call(Op{Verb: Release, Name: lease.Name(), Token: lease.Token()})
}

func (c *client) released(op *Op, err error) {
	outcome := OK
	switch {
	case err == nil:
	case errors.Is(err, tenure.ErrLost):
		outcome = "lost"
	case errors.Is(err, tenure.ErrUnavailable), errors.Is(err, tenure.ErrClosed):
		outcome = "unavailable"
	default:
		c.t.fail("%s: releasing %q failed for no good reason: %w", c.log.name, op.Name, err)
		outcome = "failed"
	}
	c.log.Return(op, func(op *Op) { op.Outcome = outcome })
}

// do has Do or TryDo run work that may end in any way.
func (c *client) do(ctx context.Context, locker *tenure.Locker, name string) {
	limited, cancel := c.patience(ctx)
	defer cancel()
	end := c.rng.IntN(8)
	run := locker.Do
	if c.rng.IntN(3) == 0 {
		run = locker.TryDo
	}
	op := c.call(name, driver.Exclusive)
	var giving *Op
	work := func(ctx context.Context, lease *tenure.Lease) error {
		c.granted(op, lease)
		defer func() { giving = c.releasing(lease) }()
		c.work(ctx, lease)
		switch end {
		case 0:
			return errDeliberate
		case 1:
			panic(errDeliberate)
		case 2:
			runtime.Goexit()
		}
		return nil
	}
	var err error
	var doing sync.WaitGroup
	doing.Go(func() { // apart, so that Goexit ends only this
		defer func() {
			if p := recover(); p != nil && p != any(errDeliberate) {
				panic(p)
			}
		}()
		err = run(limited, name, work)
	})
	doing.Wait()
	switch {
	case giving == nil:
		c.refused(op, err)
		c.idle(ctx)
	case end == 1 || end == 2: // Do did not return, so what became of the release is not known
	case end == 0 && !errors.Is(err, errDeliberate):
		c.t.fail("%s: Do of %q lost the error of its work: %v", c.log.name, name, err)
	case end == 0 && !errors.Is(err, tenure.ErrLost) && !errors.Is(err, tenure.ErrUnavailable) && !errors.Is(err, tenure.ErrClosed):
		c.released(giving, nil)
	default:
		c.released(giving, err)
	}
}

// all takes several names at once.
func (c *client) all(ctx context.Context, locker *tenure.Locker) {
	limited, cancel := c.patience(ctx)
	defer cancel()
	order := c.rng.Perm(len(c.t.Names))[:min(2, len(c.t.Names))]
	names := make([]string, len(order))
	ops := make([]*Op, len(order))
	for i, at := range order {
		names[i] = c.t.Names[at]
		ops[i] = c.call(names[i], driver.Exclusive)
	}
	leases, err := locker.AcquireAll(limited, names...)
	if err != nil {
		for _, op := range ops {
			c.refused(op, err)
		}
		c.idle(ctx)
		return
	}
	for i, lease := range leases {
		c.granted(ops[i], lease)
	}
	under := leases.Context(ctx)
	for _, lease := range leases {
		c.work(under, lease)
	}
	giving := make([]*Op, len(leases))
	for i, lease := range leases {
		giving[i] = c.releasing(lease)
	}
	if err := leases.Release(ctx); err == nil {
		for _, op := range giving {
			c.released(op, nil)
		}
	} else if !errors.Is(err, tenure.ErrLost) && !errors.Is(err, tenure.ErrUnavailable) && !errors.Is(err, tenure.ErrClosed) {
		c.t.fail("%s: releasing %q failed for no good reason: %w", c.log.name, names, err)
	}
}
