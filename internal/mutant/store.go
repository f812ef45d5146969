package mutant

import (
	"context"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Options say which store it is.
type Options struct {
	Flaw Flaw
	// Plain is a store without shared grants, slots and memory, and whose stalled holders keep their names.
	Plain bool
}

const defaultTTL = 10 * time.Second

// Twins are two names with one key.
var Twins = [2]string{"locktest/twins", "=locktest/twins"}

// Store is one session with a world.
type Store struct {
	driver.Local
	w      *world
	info   driver.Info
	closed chan struct{} // under w.mu
}

// New makes a world, and gives what opens sessions with it.
func New(options Options) func(context.Context) (driver.Store, error) {
	shared := newWorld(options)
	return func(context.Context) (driver.Store, error) {
		w := shared
		if w.flaw == StandbyGrants {
			w = newWorld(options)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.sessions++; w.sessions == 1 && w.flaw == CounterReset {
			w.numbers = make(map[string]int64)
		}
		return &Store{w: w, info: w.describe(), closed: make(chan struct{})}, nil
	}
}

var guarantees = driver.Guarantees{
	Promises:     driver.FencingSurvivesCrash | driver.StalledHolderFreed | driver.FirstInFirstOut,
	KilledHolder: "ends with it", StalledHolder: "after the TTL", Order: "first in, first out",
	PerHolder: "none", PerWaiter: "none",
	Crash: nothing, Restart: nothing, Failover: nothing, ClockStep: nothing,
	Limits: []string{"It is made to be broken."},
}

var nothing = driver.Effect{Lock: "ends with its holders", Token: "ends with its holders"}

func (w *world) describe() driver.Info {
	info := driver.Info{
		Kind: "mutant", Address: "mutant:", Session: driver.NewSession(), TTL: defaultTTL,
		Features:   driver.CanShare | driver.CanSlots | driver.CanRemember,
		Guarantees: guarantees,
	}
	if w.flaw == SaysNothing {
		info.Guarantees.StalledHolder = ""
	}
	if w.plain {
		info.Features, info.Guarantees.Promises = 0, driver.FencingSurvivesCrash|driver.FirstInFirstOut
	}
	if w.flaw == HostIsSession {
		info.Session = driver.Self().Host + "-host"
	}
	return info
}

// Info describes the session.
func (s *Store) Info() driver.Info { return s.info }

// Attached is the embedded Local's.
func (s *Store) Attached() *driver.Local {
	if s.w.flaw == ForgetsLocal {
		return new(driver.Local)
	}
	return s.Local.Attached()
}

// Key gives the name; "=x" stands for "x".
func (s *Store) Key(name string) (string, error) {
	name = strings.TrimPrefix(name, "=")
	if s.w.flaw == KeyOfSession {
		return fmt.Sprintf("%d:%s", crc32.ChecksumIEEE([]byte(s.info.Session+name)), name), nil
	}
	return name, nil
}

// key is under what the world keeps a name.
func (w *world) key(ref driver.Ref) string {
	switch w.flaw {
	case KeyByName:
		return ref.Name
	case KeyOfSession:
		return strings.TrimPrefix(ref.Name, "=")
	case NamesFolded:
		return strings.TrimRight(strings.ToLower(ref.Key), " ")
	}
	return ref.Key
}

func (s *Store) owner(acq uint64) string {
	if s.w.flaw == AcqIsOwner {
		return fmt.Sprint(acq)
	}
	return fmt.Sprintf("%s/%d", s.info.Session, acq)
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return s.w.flaw != ClosedGrants
	default:
		return false
	}
}

func closedFault() error {
	return &driver.Fault{Kind: driver.Lasting, Err: fmt.Errorf("mutant: %w", driver.ErrClosed)}
}

// Close tells the holders, and then frees what the session holds.
func (s *Store) Close(context.Context) error {
	w := s.w
	if !s.end() {
		return nil
	}
	if w.flaw != ClosePassesOnFirst {
		w.tell()
	}
	s.passOn()
	w.tell()
	return nil
}

// end closes the session to all calls. False: it was closed.
func (s *Store) end() bool {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-s.closed:
		return false
	default:
	}
	close(s.closed)
	w.sessions--
	for _, q := range clone(w.queue) {
		if q.session == s && w.flaw != CloseForgetsWaiters {
			w.answer(q, driver.Grant{}, closedFault())
		}
	}
	for _, held := range w.held {
		for _, g := range held {
			if g.session == s && g.watch != nil && w.flaw != CloseSilent && w.flaw != CloseLeaves {
				w.lost = append(w.lost, g.watch)
			}
		}
	}
	return true
}

// passOn frees what the session holds.
func (s *Store) passOn() {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, held := range w.held {
		for _, g := range clone(held) {
			if g.session == s && w.flaw != CloseLeaves {
				w.drop(key, g)
			}
		}
	}
	w.serve()
}

// Inspect tells who holds a name.
func (s *Store) Inspect(_ context.Context, name string) (report driver.Report, err error) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.isClosed() {
		return report, closedFault()
	}
	w.expire()
	own, _ := s.Key(name)
	key := w.key(driver.Ref{Name: name, Key: own})
	for _, g := range w.held[key] {
		h := g.holder
		if w.flaw == HolderUndescribed {
			h = driver.Holder{Session: h.Session, Acq: h.Acq, Number: h.Number}
		}
		report.Holders = append(report.Holders, h)
		if w.flaw == InspectRenews {
			g.expires = driver.Now().Add(g.ttl)
		}
	}
	if last, ok := w.last[key]; ok && len(report.Holders) == 0 && w.flaw == InspectStale {
		report.Holders = append(report.Holders, last)
	}
	for _, q := range w.queue {
		if q.req.Key == own {
			report.Waiters = append(report.Waiters, q.holder)
		}
	}
	if run, ok := w.runs[key]; ok {
		report.LastRun = run.Since
	}
	return report, nil
}

// tell runs the watchers' calls, without the mutex.
func (w *world) tell() {
	w.mu.Lock()
	lost := w.lost
	w.lost = nil
	w.mu.Unlock()
	for _, watch := range lost {
		watch.Lost(fmt.Errorf("mutant: %w", driver.ErrClosed))
	}
}

// world is what the sessions share.
type world struct {
	flaw  Flaw
	plain bool

	mu       sync.Mutex
	sessions int
	held     map[string][]*grant
	queue    []*waiter // of all names, in order
	numbers  map[string]int64
	runs     map[string]driver.Holder // the last grants that were to be remembered
	last     map[string]driver.Holder
	ever     map[string]bool // owners that have released
	cleaned  map[string]bool // owners that were cleaned up
	order    []string        // keys in the order of their grants
	doors    map[string]bool // left closed
	lost     []driver.Watcher
}

func newWorld(options Options) *world {
	return &world{
		flaw: options.Flaw, plain: options.Plain,
		held: make(map[string][]*grant), numbers: make(map[string]int64), runs: make(map[string]driver.Holder),
		last: make(map[string]driver.Holder), ever: make(map[string]bool), cleaned: make(map[string]bool), doors: make(map[string]bool),
	}
}

// grant is one holder.
type grant struct {
	session *Store
	owner   string
	mode    driver.Mode
	holder  driver.Holder
	watch   driver.Watcher
	ttl     time.Duration
	sent    driver.Instant
	expires driver.Instant
}

// waiter is one request in the queue.
type waiter struct {
	session *Store
	owner   string
	req     driver.Request
	holder  driver.Holder
	keys    []string // any of which it wants
	sent    driver.Instant
	woken   chan struct{}
	done    bool
	grant   driver.Grant
	err     error
}

func clone[T any](all []T) []T { return append([]T(nil), all...) }
