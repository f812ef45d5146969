// Package session is a session with one Redis, which may be the primary of a Sentinel's set or a Cluster: its id, its
// subscription, its leases and waits.
package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/redislock/internal/companion"
)

// Options are what the session is told.
type Options struct {
	Prefix  string
	TTL     time.Duration // the default of leases
	Grace   time.Duration // after which a holder of whom nobody hears any more has crashed; zero: that is left to the TTL
	Address string        // for people
	Cluster bool
	Logger  *slog.Logger
	// Own says that the client is the session's, and is closed with it.
	Own bool
}

// Store is a session.
type Store struct {
	driver.Local
	client rueidis.Client
	opts   Options
	info   driver.Info

	context context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup
	kick    chan struct{} // has an element when the asker has something to see to

	mu      sync.Mutex
	closed  bool
	claims  map[uint64]*claim
	chains  map[time.Duration]*chain
	blind   bool                   // it may not be looked at
	deaf    bool                   // it may not subscribe
	used    map[time.Duration]bool // the graces that stand in owner ids
	proving bool                   // a bare proof is under way
	proved  driver.Instant         // the last answered proof of the session was sent then
	heard   bool                   // the subscription stands, as far as the session knows
	ready   chan struct{}          // closed when it does
	heardAt driver.Instant         // since when it stands
	hangUp  context.CancelFunc     // ends it; nil if it does not stand, or has been called
	clock   serverClock
}

// New makes a session over a client, once the server has shown that it is fit.
func New(ctx context.Context, client rueidis.Client, opts Options) (*Store, error) {
	s := &Store{
		client: client, opts: opts, kick: make(chan struct{}, 1), ready: make(chan struct{}),
		claims: make(map[uint64]*claim), chains: make(map[time.Duration]*chain), used: make(map[time.Duration]bool),
	}
	if err := s.examine(ctx); err != nil {
		return nil, err
	}
	s.info = s.describe()
	s.context, s.end = context.WithCancel(context.Background())
	s.running.Add(2)
	if s.deaf {
		s.running.Done()
		s.hears(nil) // nobody need wait for it: whoever waits for a name asks
	} else {
		go s.subscribe()
	}
	go s.run()
	if err := s.subscribed(ctx); err != nil {
		_ = s.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

// subscribed waits until the session's subscription is confirmed.
func (s *Store) subscribed(ctx context.Context) error {
	s.mu.Lock()
	heard, ready := s.heard, s.ready
	s.mu.Unlock()
	if heard { // to look at a context costs more
		return nil
	}
	select {
	case <-ready:
		return nil
	case <-s.context.Done():
		return s.closedFault()
	case <-ctx.Done():
		return passing(fmt.Errorf("%s: no subscription yet: %w", s.opts.Address, context.Cause(ctx)))
	}
}

// Info says what the store is.
func (s *Store) Info() driver.Info { return s.info }

// Key gives the lock's key, which is the name behind the prefix.
func (s *Store) Key(name string) (string, error) {
	if name == "" {
		return "", errors.New("an empty name")
	}
	key := s.opts.Prefix + name
	return key, companion.Check(key)
}

// Close ends the session. What it holds is lost, and then freed; what it waits for is not granted any more.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	var lost []driver.Watcher
	var left []*claim
	for _, c := range s.claims {
		switch c.state {
		case held:
			if left = append(left, c); !c.told {
				lost = append(lost, c.watch)
			}
		case waiting:
			left = append(left, c)
		}
	}
	s.mu.Unlock()
	for _, w := range lost {
		w.Lost(driver.ErrClosed)
	}
	s.end()
	bound, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, c := range left { // or the names would come to nobody for a while
		_ = s.cleanAll(bound, c.sets, c.owner)
	}
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if s.opts.Own {
		s.client.Close()
	}
	return nil
}

func (s *Store) closedFault() error {
	return lasting(fmt.Errorf("the session with %s is %w", s.opts.Address, driver.ErrClosed))
}
