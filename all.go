package tenure

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// Leases are those of one [Locker.AcquireAll], in the order in which the names were given.
type Leases []*Lease

// Release gives all of them back, and returns the join of what each said.
func (ls Leases) Release(ctx context.Context) error {
	var failed []error
	for _, lease := range slices.Backward(ls) {
		failed = append(failed, lease.Release(ctx))
	}
	return errors.Join(failed...)
}

// Err is the first of what the leases' Err say: nil while all are held and trusted.
func (ls Leases) Err() error {
	for _, lease := range ls {
		if err := lease.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Context gives a context that ends with ctx, or with the first of the leases that is over.
func (ls Leases) Context(ctx context.Context) context.Context {
	for _, lease := range ls {
		ctx = lease.Context(ctx)
	}
	return ctx
}

// AcquireAll waits until it holds all the names. It takes them in the order of the store's keys, which is the same for
// every caller, so calls of AcquireAll do not deadlock with each other; a caller that holds one name while it acquires
// others by hand still can. If one is lost while it waits for another, it gives back the rest and begins anew. On failure
// none is held. A name given twice, or two names with one key (they would wait for each other), are refused.
func (l *Locker) AcquireAll(ctx context.Context, names ...string) (Leases, error) {
	type place struct {
		key   string
		index int
	}
	places := make([]place, len(names))
	for i, name := range names {
		key, err := l.check(name)
		if err != nil {
			return nil, err
		}
		places[i] = place{key, i}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.key, b.key) })
	for i := 1; i < len(places); i++ {
		if names[places[i].index] == names[places[i-1].index] {
			return nil, invalid("%q is given twice", names[places[i].index])
		}
		if places[i].key == places[i-1].key {
			return nil, invalid("%q and %q together: they have one key in this store, so the second would wait for the first for ever",
				names[places[i-1].index], names[places[i].index])
		}
	}
	for {
		leases, taken := make(Leases, len(names)), make(Leases, 0, len(names))
		for _, place := range places {
			lease, err := l.acquire(ctx, names[place.index], true)
			if err != nil {
				return nil, errors.Join(err, taken.Release(ctx))
			}
			leases[place.index], taken = lease, append(taken, lease)
		}
		if taken.Err() == nil {
			return leases, nil
		}
		_ = taken.Release(ctx) // that one was lost is known, and no work was done under the others
	}
}
