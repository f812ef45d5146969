package filelock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// errAbandoned ends a wait whose request was abandoned.
var errAbandoned = errors.New("the request was abandoned")

// ask is one request on its way.
type ask struct {
	store   *Store
	req     *driver.Request
	ctx     context.Context // the caller's, also ended by Close and Abandon
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed once nothing of the request is left but its grant
	since   time.Time
	targets []*target // the files of which one is wanted, in the order in which they are tried
}

// Acquire asks for one grant. A grant, or a *driver.HeldError or *driver.DoneError, is certain, and so is that a request
// whose context ended has nothing.
func (s *Store) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	a, err := s.newAsk(ctx, req)
	if err != nil {
		return driver.Grant{}, err
	}
	defer a.cancel(nil)
	if err := s.begin(a); err != nil {
		return driver.Grant{}, err
	}
	defer close(a.done)
	grant, h, err := a.run()
	a.tidy()
	if !s.end(a, h) {
		_ = h.release() // whatever it says, it is free now
		return driver.Grant{}, closedFault()
	}
	return grant, err
}

func (s *Store) newAsk(ctx context.Context, req *driver.Request) (*ask, error) {
	remembers := req.OncePer > 0 || req.Gap > 0
	switch {
	case len(req.Slots) > 0 && req.Mode == driver.Shared:
		return nil, driver.Unsupported("filelock: a slot that is shared")
	case remembers && len(req.Slots) > 0:
		return nil, driver.Unsupported("filelock: OncePer and Gap over slots")
	case remembers && req.Mode == driver.Shared:
		return nil, driver.Unsupported("filelock: OncePer and Gap of a shared lease")
	}
	names := []string{req.Name}
	if len(req.Slots) > 0 {
		names = names[:0]
		for _, slot := range req.Slots {
			names = append(names, slot.Name)
		}
	}
	a := &ask{store: s, req: req, done: make(chan struct{}), since: time.Now()}
	first := 0
	if len(names) > 1 {
		first = rand.IntN(len(names)) // or all would want the first slot
	}
	for i := range names {
		t, err := a.newTarget((first+i)%len(names), names[(first+i)%len(names)])
		if err != nil {
			return nil, err
		}
		a.targets = append(a.targets, t)
	}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	return a, nil
}

// run tries each file once, then waits if the request wants to.
func (a *ask) run() (driver.Grant, *hold, error) {
	if a.ctx.Err() != nil {
		return driver.Grant{}, nil, ended(a.ctx, "asking for", a.req.Name)
	}
	var holder *driver.Holder
	var broken error // a slot's fault, which another slot's grant makes good
	for _, t := range a.targets {
		taken, found, err := t.try()
		switch {
		case taken:
			return t.grant()
		case err != nil && broken == nil:
			broken = err
		case err == nil && holder == nil:
			holder = t.holderIn(found)
		}
	}
	switch {
	case a.ctx.Err() != nil:
		return driver.Grant{}, nil, ended(a.ctx, "asking for", a.req.Name)
	case broken != nil:
		return driver.Grant{}, nil, broken
	case !a.req.Wait:
		return driver.Grant{}, nil, &driver.HeldError{Holder: *holder}
	}
	return a.wait(holder)
}

// tidy closes what the request opened. A lock that was granted is not among it any more.
func (a *ask) tidy() {
	for _, t := range a.targets {
		t.close()
	}
}

// holderIn is who holds a lock that was not to be had.
func (t *target) holderIn(rec record) *driver.Holder {
	h := rec.last()
	if rec.state == free { // the record has the one before
		h = driver.Holder{Foreign: t.foreign && !t.waived}
	}
	return &h
}
