// Package session holds PostgreSQL's session-level advisory locks on connections of its own: one for all the locks of the
// process, and one more for each busy name that is waited for.
//
// The way of a request: acquire.go tries it on the main line, wait.go waits for it on a line of its own; claim.go keeps
// account of what is asked and held. A line (line.go, owner.go) is one connection, on which callers take turns or share an
// exchange (exchange.go); reconcile.go finds out what the session has after an error, ghost.go ends sessions of which the
// server does not know yet that they are over. Renewals are heartbeats (renew.go).
package session

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/connect"
)

// Options are those of New; all are set.
type Options struct {
	TTL time.Duration
	// Waits is how many names are waited for in the server's queue at once, each on a connection of its own.
	Waits int
	// Waited is how many connections may be in use at once that waited, with the locks that they were granted.
	Waited int
	// MaxLocks is how many locks the session holds or asks for at most.
	MaxLocks int
	// Turn is the longest that one wait stays in the server's queue before it begins anew.
	Turn time.Duration
	// Keep is how many days names stay listed that nobody uses; negative: for ever.
	Keep int
	// Pooler says that a pooler that keeps one server session for each client connection is in between.
	Pooler bool
}

// Store is one session of this process with a database.
type Store struct {
	driver.Local
	opts    Options
	ttl     time.Duration
	dialer  *connect.Dialer
	info    driver.Info
	tokens  tokens
	room    room
	watch   watcher
	names   names
	opened  atomic.Uint64  // how many lines there have been
	running sync.WaitGroup // every goroutine of the store
	context context.Context
	cancel  context.CancelFunc

	ready atomic.Pointer[line] // main, for those who need no mu
	keys  keys
	ahead atomic.Int64 // by how much the server's clock is ahead of ours, in ns

	mu      sync.Mutex
	closed  bool
	claims  map[uint64]*claim
	main    *line
	dialing *dialing
	extras  map[*line]struct{}
	ghosts  []*ghost
	proven  bool          // a main line was opened once
	inner   uint64        // how many claims there were that are no request's
	busy    map[lock]busy // which names were found taken
}

var _ driver.Store = (*Store)(nil)

// New opens a session. Conn is a connection on which the schema was checked; it becomes the session's main line, or is closed.
func New(ctx context.Context, dialer *connect.Dialer, opts Options) (*Store, error) {
	s := &Store{
		opts: opts, ttl: opts.TTL, dialer: dialer,
		claims: make(map[uint64]*claim), extras: make(map[*line]struct{}), busy: make(map[lock]busy),
	}
	s.keys.seed = maphash.MakeSeed()
	s.context, s.cancel = context.WithCancel(context.Background())
	s.tokens.s, s.room.s, s.watch.s = s, s, s
	s.info = driver.Info{
		Kind: "postgres", Address: dialer.Address(), Session: driver.NewSession(), TTL: opts.TTL, FixedTTL: true,
		Features: driver.CanShare | driver.CanSlots | driver.CanRemember, Guarantees: guarantees(opts),
		ListsAfter: opts.TTL,
	}
	s.running.Add(1)
	go s.sweep()
	if _, err := s.mainLine(ctx); err != nil {
		_ = s.Close(ctx)
		return nil, err
	}
	return s, nil
}

// Info says what the store is and promises.
func (s *Store) Info() driver.Info { return s.info }

// Key gives the advisory key of a name.
func (s *Store) Key(name string) (string, error) {
	return s.keys.of(name)
}

// spawn runs f in a goroutine that Close waits for. False: the store is closed.
func (s *Store) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		f()
	}()
	return true
}

func (s *Store) closedFault() error {
	return lasting(fmt.Errorf("the session with %s is %w", s.info.Address, driver.ErrClosed))
}

// Close ends the session: waiters return at once, the holders are told, and then the connections are closed, by which the
// server frees what they hold. It waits for that until ctx ends, and then closes the sockets.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	mainLine, extras := s.main, slices.Collect(maps.Keys(s.extras))
	var lost []driver.Watcher
	for _, c := range s.claims {
		if c.state == held {
			lost = append(lost, c.watch)
			s.end(c) // it hears of its loss once
		}
	}
	s.mu.Unlock()
	s.cancel()
	for _, w := range lost {
		w.Lost(fmt.Errorf("the session was closed: %w", driver.ErrClosed))
	}
	if ctx.Err() != nil { // the server must hear of it all the same
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
	}
	var ends sync.WaitGroup
	for _, l := range extras {
		l.link.Interrupt() // whoever waits on it looks up
		ends.Go(func() { l.quit(ctx) })
	}
	ends.Wait() // a wait is ended over the main line, so that goes last
	if mainLine != nil {
		mainLine.quit(ctx)
	}
	s.running.Wait()
	return nil
}
