package fault

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Errors behind the faults.
var (
	ErrFailed = errors.New("fault: the request failed before it was sent")
	ErrLost   = errors.New("fault: the answer was lost")
	ErrCut    = errors.New("fault: the session is cut off")
)

// Plan says how bad it is. The chances are those of one call, and add up to 1 at most.
type Plan struct {
	Seed uint64
	// Fail: the request has no effect, and that is known. Lose: it has its effect, or not, and the answer is lost.
	// Late: the request or its answer takes up to Delay. Overtake: an acquire is said to be unknown, and runs up to Delay
	// later, when it has been cleaned up already.
	Fail, Lose, Late, Overtake float64
	// Delay is the longest delay. It must be below the TTL: a request that runs later than that is assumed not to be.
	Delay time.Duration
}

// Store is a session with faults. Its Local is its own.
type Store struct {
	driver.Local
	inner driver.Store
	plan  Plan

	mu     sync.Mutex
	random *rand.Rand
	calm   bool
	next   kind          // for the next acquire, whatever the plan says
	healed chan struct{} // open while the session is cut off
	closed bool
	busy   sync.WaitGroup  // calls, and what goes on behind lost answers
	ctx    context.Context // over when the session is closed
	cancel context.CancelFunc
}

type kind uint8

const (
	fair kind = iota
	fail
	lose
	late
	overtake
)

// Wrap puts faults before a session.
func Wrap(inner driver.Store, plan Plan) *Store {
	s := &Store{inner: inner, plan: plan, random: rand.New(rand.NewPCG(plan.Seed, 1))}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Calm ends the plan. What is on its way stays so.
func (s *Store) Calm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calm = true
}

// LoseNext loses the answer of the next acquire.
func (s *Store) LoseNext() { s.force(lose) }

// OvertakeNext has the next acquire run after its first clean-up, by Delay.
func (s *Store) OvertakeNext() { s.force(overtake) }

func (s *Store) force(k kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = k
}

// Cut cuts the session off: no request reaches the store any more, and no answer comes back.
func (s *Store) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.healed == nil {
		s.healed = make(chan struct{})
	}
}

// Heal undoes Cut.
func (s *Store) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.healed != nil {
		close(s.healed)
		s.healed = nil
	}
}

// roll decides what happens to a call, and how long a delay is.
func (s *Store) roll(acquire bool) (kind, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != fair && acquire {
		k := s.next
		s.next = fair
		return k, s.plan.Delay
	}
	chance, delay := s.random.Float64(), time.Duration(s.random.Float64()*float64(s.plan.Delay))
	if s.calm {
		return fair, 0
	}
	for _, of := range []struct {
		kind   kind
		chance float64
	}{{fail, s.plan.Fail}, {lose, s.plan.Lose}, {late, s.plan.Late}, {overtake, s.plan.Overtake}} {
		if chance < of.chance {
			if of.kind == overtake && !acquire {
				return lose, delay
			}
			return of.kind, delay
		}
		chance -= of.chance
	}
	return fair, 0
}

func (s *Store) toss() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(2) == 0
}

// reach waits while the session is cut off, and says whether ctx let it.
func (s *Store) reach(ctx context.Context) bool {
	for {
		s.mu.Lock()
		healed := s.healed
		s.mu.Unlock()
		if healed == nil {
			return true
		}
		select {
		case <-healed:
		case <-ctx.Done():
			return false
		case <-s.ctx.Done():
			return false
		}
	}
}

// pass lets time go by, and says whether ctx let it.
func (s *Store) pass(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-s.ctx.Done():
		return false
	}
}

// enter counts a call in, so that Close joins it. It says false after that: the call is then the closed session's.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.busy.Add(1)
	}
	return !s.closed
}

func unknown(sent driver.Instant, err error) error {
	return &driver.Fault{Kind: driver.Unknown, Sent: sent, Err: err}
}

// Info is the session's.
func (s *Store) Info() driver.Info { return s.inner.Info() }

// Key is the session's.
func (s *Store) Key(name string) (string, error) { return s.inner.Key(name) }

// Inspect is the session's, where it can be reached.
func (s *Store) Inspect(ctx context.Context, name string) (driver.Report, error) {
	if !s.reach(ctx) {
		return driver.Report{}, &driver.Fault{Kind: driver.Passing, Err: ErrCut}
	}
	return s.inner.Inspect(ctx, name)
}

// Close closes the session, and joins all calls.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	err := s.inner.Close(ctx)
	s.busy.Wait()
	return err
}

var _ driver.Store = (*Store)(nil)
