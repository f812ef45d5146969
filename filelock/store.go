package filelock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Options are those of Open. Zero is the default.
type Options struct {
	// TTL is the default of a Locker's TTL: how long a guardian lets a stalled holder go on, and three times the interval
	// at which a deleted lock file is noticed. The directory itself frees nothing by time. Default 30 s, at least 10 ms.
	TTL time.Duration
}

const (
	defaultTTL = 30 * time.Second
	minTTL     = 10 * time.Millisecond
)

// Store is one session with a directory of lock files. Open makes one; it is safe for concurrent use.
type Store struct {
	driver.Local
	dir     string
	ttl     time.Duration
	session string
	// tells is set once the kernel was seen to tell whether an open file is locked: file.locked is then believed.
	tells atomic.Bool

	mu     sync.Mutex
	closed bool
	asks   map[uint64]*ask  // on their way, by acquisition number
	holds  map[uint64]*hold // granted
}

var _ driver.Store = (*Store)(nil)

// Open opens the directory as a store, and makes it if it is missing. The error says what would be right where the
// directory cannot be used: because it is not one, cannot be written to, or is on a network file system or FUSE.
func Open(dir string, opts Options) (*Store, error) { return openOn(dir, opts, fileSystem) }

// openOn is Open with the way to find out which kind of file system a directory is on; "" stands for a good one.
func openOn(dir string, opts Options, kindOf func(string) (string, error)) (*Store, error) {
	switch {
	case dir == "":
		return nil, lasting("no directory is named; name one on a local file system")
	case opts.TTL == 0:
		opts.TTL = defaultTTL
	case opts.TTL < minTTL:
		return nil, lasting("a TTL of %v; at least %v is needed, and %v is usual", opts.TTL, minTTL, defaultTTL)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, failed("find", dir, err)
	}
	if err := prepare(dir, kindOf); err != nil {
		return nil, err
	}
	return &Store{
		dir: dir, ttl: opts.TTL, session: driver.NewSession(),
		asks: make(map[uint64]*ask), holds: make(map[uint64]*hold),
	}, nil
}

// prepare makes the directory, and looks whether it can hold locks.
func prepare(dir string, kindOf func(string) (string, error)) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed("make the directory", dir, err)
	}
	kind, err := kindOf(dir)
	if err != nil {
		return failed("look at", dir, err)
	}
	if kind != "" {
		return refuse(dir, kind)
	}
	if err := writable(dir); err != nil {
		return failed("write to the directory", dir, err)
	}
	return nil
}

// Info says what the directory is and promises.
func (s *Store) Info() driver.Info {
	return driver.Info{
		Kind: "directory", Address: "file:" + s.dir, Session: s.session, TTL: s.ttl,
		Features:   driver.CanShare | driver.CanSlots | driver.CanRemember,
		Guarantees: guarantees(),
	}
}

// path gives the path of a name's files, without a suffix.
func (s *Store) path(name string) (string, error) {
	stem, err := stemOf(name)
	if err != nil {
		return "", asFault(driver.Lasting, err)
	}
	return filepath.Join(s.dir, stem), nil
}

// begin enters a request, so that Close and Abandon find it.
func (s *Store) begin(a *ask) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	acq := a.req.Acq
	if s.closed {
		return closedFault()
	}
	if acq == 0 || s.asks[acq] != nil || s.holds[acq] != nil {
		return lasting("the acquisition number %d is zero or in use; each request needs its own", acq)
	}
	s.asks[acq] = a
	return nil
}

// end takes a request off the list, and enters its grant if it got one. False: the store was closed in the meantime, and
// the grant must be given back.
func (s *Store) end(a *ask, h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asks, a.req.Acq)
	if h != nil && s.closed {
		return false
	}
	if h != nil {
		s.holds[a.req.Acq] = h
	}
	return true
}

// holding looks a grant up; nil where this session has none under the number.
func (s *Store) holding(acq uint64) (*hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, closedFault()
	}
	return s.holds[acq], nil
}

// take removes a grant, if it is still there: whoever takes it, ends it.
func (s *Store) take(h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[h.ref.Acq] != h {
		return false
	}
	delete(s.holds, h.ref.Acq)
	return true
}

// Close tells the holders, frees what they held, and ends what waits. It returns when all have stopped, or ctx ends.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	held := s.holds
	s.holds = nil // nothing is entered any more
	s.closed = true
	waiting := make([]*ask, 0, len(s.asks))
	for _, a := range s.asks {
		a.cancel(driver.ErrClosed)
		waiting = append(waiting, a)
	}
	s.mu.Unlock()
	for _, h := range held {
		h.watch.Lost(fmt.Errorf("filelock: %q: %w", h.ref.Name, driver.ErrClosed)) // first, so that it trusts beside nobody
		_ = h.release()                                                            // whatever it was, it is free now
	}
	for _, a := range waiting {
		select {
		case <-a.done:
		case <-ctx.Done():
			return ended(ctx, "closing", a.req.Name)
		}
	}
	return nil
}
