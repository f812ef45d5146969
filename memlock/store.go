package memlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// DefaultTTL is what Options.TTL stands for when it is zero.
const DefaultTTL = 30 * time.Second

// Options are those of a memory. The zero value is the default.
type Options struct {
	// TTL is how long a grant is kept that nobody renews, for lockers that do not say so themselves. Zero: DefaultTTL.
	// tenure.New judges whether it is long enough.
	TTL time.Duration
}

// Store is one session with a memory. It implements [driver.Store].
type Store struct {
	driver.Local
	memory  *memory
	info    driver.Info
	options Options
	closed  bool // under the memory's mutex
}

var _ driver.Store = (*Store)(nil)

// New makes a memory in which nothing is held, and opens a session with it.
func New(options Options) *Store {
	if options.TTL == 0 {
		options.TTL = DefaultTTL
	}
	return open(newMemory(), options)
}

// Session opens another session with the same memory, as another process would: the two exclude each other, and closing
// one leaves the other alone. It may be called on a closed session too.
func (s *Store) Session() *Store { return open(s.memory, s.options) }

func open(m *memory, options Options) *Store {
	return &Store{
		memory:  m,
		options: options,
		info: driver.Info{
			Kind:       "memory",
			Address:    "memory:",
			Session:    driver.NewSession(),
			TTL:        options.TTL,
			Features:   driver.CanShare | driver.CanSlots | driver.CanRemember,
			Guarantees: guarantees,
		},
	}
}

// Info says what this session is and what a memory promises.
func (s *Store) Info() driver.Info { return s.info }

// Key gives the name itself: every name has a place of its own.
func (s *Store) Key(name string) (string, error) {
	if name == "" {
		return "", errors.New("a name cannot be empty")
	}
	return name, nil
}

// Inspect tells who holds a name and who waits for it. The waiters for slots are those of the group's name, the holders
// those of each slot's.
func (s *Store) Inspect(_ context.Context, name string) (driver.Report, error) {
	t := s.memory.begin()
	defer t.end()
	if s.closed {
		return driver.Report{}, s.closedFault()
	}
	var report driver.Report
	p := s.memory.places[name]
	if p == nil {
		return report, nil
	}
	for c := p.holders.head; c != nil; c = c.next {
		if !c.over(t.now) {
			report.Holders = append(report.Holders, c.describe())
		}
	}
	for c := p.queue.head; c != nil; c = c.next {
		report.Waiters = append(report.Waiters, c.describe())
	}
	if p.slots != nil {
		for c := p.slots.waiters.head; c != nil; c = c.next {
			report.Waiters = append(report.Waiters, c.describe())
		}
	}
	if p.run != nil {
		report.LastRun = p.run.at()
	}
	return report, nil
}

// Close ends the session: its waiters return at once, the holders are told, and then what it holds passes on. The memory
// and its other sessions live on.
func (s *Store) Close(context.Context) error {
	if s.announceEnd() {
		s.passOn()
	}
	return nil
}

// announceEnd closes the session to all calls, and tells its waiters and holders when the turn ends. False: it was closed.
func (s *Store) announceEnd() bool {
	t := s.memory.begin()
	defer t.end()
	if s.closed {
		return false
	}
	s.closed = true
	cause := fmt.Errorf("the session was closed: %w", driver.ErrClosed)
	for _, p := range s.memory.places {
		for c := range p.waiting() {
			if c.session == s {
				t.refuse(c, s.closedFault())
			}
		}
		for c := range p.holders.all() {
			if c.session == s {
				t.report(c, cause)
			}
		}
	}
	return true
}

// passOn frees what the session holds. Its holders have been told by now, so that none trusts beside a successor.
func (s *Store) passOn() {
	t := s.memory.begin()
	defer t.end()
	for _, p := range s.memory.places {
		for c := range p.holders.all() {
			if c.session == s {
				t.drop(p, c)
			}
		}
		t.serve(p)
	}
}

func (s *Store) closedFault() error {
	return &driver.Fault{Kind: driver.Lasting, Err: fmt.Errorf("memory session %s: %w", s.info.Session, driver.ErrClosed)}
}
