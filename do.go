package tenure

import (
	"context"
	"errors"
)

// Do waits for the name, runs the function while it is held, and gives the name back. The function's context ends with
// ctx, or with cause [ErrLost] when the lease is lost; it should then return soon, and it must have joined whatever it
// started. The name is given back on a panic and on runtime.Goexit, too.
//
// The error is the join of the function's and [Lease.Release]'s: never nil after a loss. If the name was not acquired, the
// function did not run, and the error is that of [Locker.Acquire].
func (l *Locker) Do(ctx context.Context, name string, work func(context.Context, *Lease) error) error {
	lease, err := l.Acquire(ctx, name)
	if err != nil {
		return err
	}
	return lease.do(ctx, work)
}

// TryDo is Do without waiting: [ErrHeld] if somebody else has the name.
func (l *Locker) TryDo(ctx context.Context, name string, work func(context.Context, *Lease) error) error {
	lease, err := l.TryAcquire(ctx, name)
	if err != nil {
		return err
	}
	return lease.do(ctx, work)
}

func (l *Lease) do(ctx context.Context, work func(context.Context, *Lease) error) (err error) {
	defer func() {
		released := l.Release(ctx)
		if errors.Is(released, ErrReleased) {
			released = l.released() // the function gave it back itself
		}
		err = errors.Join(err, released)
	}()
	return work(l.Context(ctx), l)
}
