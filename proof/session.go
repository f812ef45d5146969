package proof

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// session is one process, as it were: a session with the store, faults before it, and lockers over it. It can be closed
// and opened anew under its clients' hands.
type session struct {
	t      *torture
	number int
	log    *Client     // of what happens to its leases
	busy   atomic.Bool // its clients hold on to their leases, for longer than an outage lasts

	mu      sync.Mutex
	opened  int
	away    chan struct{} // while it is being closed and opened anew
	store   *Faulty
	lockers []*tenure.Locker
}

func newSession(t *torture, number int) *session {
	return &session{t: t, number: number, log: t.recorder.Client(fmt.Sprintf("%d/watch", number))}
}

// open opens the session, with a locker for each kind of options that are worth mixing.
func (s *session) open(ctx context.Context) error {
	inner, err := s.t.Open(ctx)
	if err != nil {
		return fmt.Errorf("opening session %d: %w", s.number, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	if s.t.info.Kind == "" {
		s.t.info = inner.Info() // at the first opening of all, when there is nobody else yet
	}
	store := NewFaulty(inner, s.t.Faults, s.t.Seed+uint64(s.number)<<32+uint64(s.opened)<<40)
	kinds := []tenure.Options{
		{},
		{}, // a second one like the first, so that hand-offs go between lockers too
		{NoHandoff: true},
		{MaxHold: s.t.ttl() / 2},
	}
	if !inner.Info().FixedTTL {
		kinds = append(kinds, tenure.Options{TTL: 2 * s.t.ttl()})
	}
	s.store, s.lockers = store, nil
	holder := driver.Self()
	for _, opts := range kinds {
		if opts.TTL == 0 {
			opts.TTL = s.t.TTL
		}
		if s.t.Exact { // one clock for all, and nobody late: trust may last to the last moment
			opts.Drift, opts.Margin = 1e-6, time.Millisecond
		}
		opts.Logger, opts.Observer, opts.Holder = s.t.quiet, s.log.observe(), &holder
		locker, err := tenure.New(store, opts)
		if err != nil {
			return errors.Join(err, store.Close(ctx))
		}
		s.lockers = append(s.lockers, locker)
	}
	return nil
}

// locker gives one of the lockers of the session as it is now.
func (s *session) locker(rng *rand.Rand) *tenure.Locker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lockers[rng.IntN(len(s.lockers))]
}

func (s *session) now() (*Faulty, []*tenure.Locker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store, s.lockers
}

func (s *session) heal() {
	store, _ := s.now()
	store.Heal()
}

// close closes the lockers, as their contract has it, and then the store. Leases that live until ctx ends are cut off.
func (s *session) close(ctx context.Context) error {
	store, lockers := s.now()
	for _, locker := range lockers {
		err := locker.Close(ctx)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("closing a locker of session %d: %w", s.number, err)
		}
	}
	if err := store.Close(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("closing the store of session %d: %w", s.number, err)
	}
	return nil
}

// closeWithin is close, and says if it took much longer.
func (s *session) closeWithin(ctx context.Context, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := s.t.Clock()
	err := s.close(limited)
	if took := time.Duration(s.t.Clock() - began); took > limit+s.t.slack() {
		err = errors.Join(err, fmt.Errorf("closing session %d took %v, and should have taken %v at most", s.number, took, limit))
	}
	return err
}

// drop closes the store under its lockers, as when its server goes away: it breaks its word for all that is held.
func (s *session) drop(ctx context.Context) error {
	store, lockers := s.now()
	var ops []*Op
	for _, name := range s.t.every() {
		ops = append(ops, s.log.Call(Op{Verb: Lose, Name: name}))
	}
	err := store.Close(ctx)
	for _, op := range ops {
		s.log.Return(op, func(op *Op) { op.Outcome = OK })
	}
	for _, locker := range lockers {
		err = errors.Join(err, locker.Close(ctx))
	}
	return err
}

// leave says that the session is about to be closed, to be opened anew.
func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = make(chan struct{})
}

// comeBack says that it is open again.
func (s *session) comeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.away)
	s.away = nil
}

// isBack waits until the session is open, or ctx is over.
func (s *session) isBack(ctx context.Context) {
	s.mu.Lock()
	away := s.away
	s.mu.Unlock()
	if away == nil {
		return
	}
	select {
	case <-away:
	case <-ctx.Done():
	}
}

// observe records what happens to leases.
func (c *Client) observe() *tenure.Observer {
	return &tenure.Observer{
		Renew: func(lease *tenure.Lease, err error) {
			if err != nil {
				return
			}
			if until := c.until(lease); lease.Err() == nil { // else it is what Until says of one that is over
				c.Event(Op{Verb: Renew, Name: lease.Name(), Token: lease.Token(), Until: until, Outcome: OK})
			}
		},
		Lost: func(lease *tenure.Lease, err error) {
			at := c.recorder.clock()
			if lost := (*tenure.LostError)(nil); errors.As(err, &lost) {
				at = c.recorder.at(lost.At)
			}
			c.eventAt(Op{Verb: Lost, Name: lease.Name(), Token: lease.Token(), Outcome: OK}, at)
		},
	}
}

// until is the end of trust of a lease on the history's clock, or a moment before.
func (c *Client) until(lease *tenure.Lease) Instant {
	return instantOf(c.recorder.clock, lease.Until)
}
