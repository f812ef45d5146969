package proof

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

var errMadeUp = errors.New("a fault that the torture made up")

// Faults says how often each thing goes wrong with a request: in which share of them.
type Faults struct {
	Fail float64 // it is never sent, and that is known
	Mute float64 // it takes effect, and the answer is lost
	Late float64 // it takes effect later, within a TTL, and nobody waits for the answer
	Slow float64 // it takes up to Delay to get there, and the answer as long
	// Delay is the longest way of a request or an answer.
	Delay time.Duration
}

// Faulty is a session to which things happen on the way to its store.
type Faulty struct {
	driver.Store
	faults Faults

	mu     sync.Mutex
	rng    *rand.Rand
	cut    bool
	healed bool
	over   bool
	closed chan struct{}
	busy   sync.WaitGroup // requests on their way, late ones too
}

// NewFaulty puts faults before a session. The seed fixes the order of the faults, not to which request each comes.
func NewFaulty(store driver.Store, faults Faults, seed uint64) *Faulty {
	return &Faulty{Store: store, faults: faults, rng: rand.New(rand.NewPCG(seed, 1)), closed: make(chan struct{})}
}

// Cut takes the way to the store away, or gives it back.
func (f *Faulty) Cut(cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = cut
}

// Heal ends all faults, but for requests that are late already.
func (f *Faulty) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.healed, f.cut = true, false
}

type fate uint8

const (
	fine fate = iota
	fails
	mute
	late
	lost // never arrives, and that is not known
)

// draw decides what becomes of a request, and how long each way takes. Ttl bounds how late it can be.
func (f *Faulty) draw(ttl time.Duration) (what fate, there, back time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.healed {
		return fine, 0, 0
	}
	if f.faults.Delay > 0 && f.rng.Float64() < f.faults.Slow {
		there, back = time.Duration(f.rng.Int64N(int64(f.faults.Delay))), time.Duration(f.rng.Int64N(int64(f.faults.Delay)))
	}
	if f.cut {
		if f.rng.IntN(2) == 0 {
			return fails, there, back
		}
		return lost, there, back
	}
	dice := f.rng.Float64()
	switch {
	case dice < f.faults.Fail:
		return fails, there, back
	case dice < f.faults.Fail+f.faults.Mute:
		return mute, there, back
	case dice < f.faults.Fail+f.faults.Mute+f.faults.Late:
		return late, time.Duration(f.rng.Int64N(int64(ttl))), back
	}
	return fine, there, back
}

// request is one message to the store.
type request struct {
	ttl time.Duration
	// work does it, and says whether the answer may be lost: not where the session is closed.
	work func() bool
	// copied gives the same request for later, when the caller has reused its memory.
	copied func() (work func())
}

// send takes a request through its fate. The error is nil if the answer came through.
func (f *Faulty) send(ctx context.Context, r request) error {
	if !f.begin() {
		r.work() // the store says that it is closed
		return nil
	}
	defer f.busy.Done()
	what, there, back := f.draw(r.ttl)
	unknown := &driver.Fault{Kind: driver.Unknown, Sent: driver.Now(), Err: errMadeUp}
	if what == late {
		f.later(there, r.copied())
		f.travel(ctx, back)
		return unknown
	}
	if !f.travel(ctx, there) || what == fails {
		return &driver.Fault{Kind: driver.Passing, Err: errMadeUp}
	}
	if what == lost {
		f.travel(ctx, back)
		return unknown
	}
	if !r.work() {
		return nil
	}
	if !f.travel(ctx, back) || what == mute {
		return unknown
	}
	return nil
}

// begin counts a request in, unless the session is closed.
func (f *Faulty) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return false
	}
	f.busy.Add(1)
	return true
}

// later does work in a while, unless the session is closed first.
func (f *Faulty) later(while time.Duration, work func()) {
	if f.begin() {
		go func() {
			defer f.busy.Done()
			if f.travel(context.Background(), while) {
				work()
			}
		}()
	}
}

// travel is the way of a message. It says false if ctx, or the session, ended before.
func (f *Faulty) travel(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-f.closed:
	}
	return false
}

// Acquire implements [driver.Store]. A request that comes late does not wait.
func (f *Faulty) Acquire(ctx context.Context, req *driver.Request) (grant driver.Grant, err error) {
	failed := f.send(ctx, request{
		ttl: req.Terms.TTL,
		work: func() bool {
			grant, err = f.Store.Acquire(ctx, req)
			return !errors.Is(err, driver.ErrClosed)
		},
		copied: func() func() {
			again := *req
			again.Wait = false
			return func() { _, _ = f.Store.Acquire(context.Background(), &again) }
		},
	})
	if failed != nil {
		return driver.Grant{}, failed
	}
	return grant, err
}

// Renew implements [driver.Store]. Faults meet the whole batch.
func (f *Faulty) Renew(ctx context.Context, batch []driver.Renewal) {
	failed := f.send(ctx, request{
		ttl:  f.Info().TTL,
		work: func() bool { f.Store.Renew(ctx, batch); return true },
		copied: func() func() {
			again := slices.Clone(batch)
			return func() { f.Store.Renew(context.Background(), again) }
		},
	})
	if failed == nil {
		return
	}
	for i := range batch {
		batch[i].Proof, batch[i].Err = driver.Proof{}, failed
	}
}

// Release implements [driver.Store].
func (f *Faulty) Release(ctx context.Context, ref driver.Ref) (err error) {
	failed := f.send(ctx, request{
		ttl: f.Info().TTL,
		work: func() bool {
			err = f.Store.Release(ctx, ref)
			return !errors.Is(err, driver.ErrClosed)
		},
		copied: func() func() {
			return func() { _ = f.Store.Release(context.Background(), ref) }
		},
	})
	if failed != nil {
		return failed
	}
	return err
}

// Abandon implements [driver.Store]. Faults meet the whole batch.
func (f *Faulty) Abandon(ctx context.Context, batch []driver.Removal) {
	failed := f.send(ctx, request{
		ttl:  f.Info().TTL,
		work: func() bool { f.Store.Abandon(ctx, batch); return true },
		copied: func() func() {
			again := slices.Clone(batch)
			return func() { f.Store.Abandon(context.Background(), again) }
		},
	})
	if failed == nil {
		return
	}
	for i := range batch {
		batch[i].Err = failed
	}
}

// Close ends the session, and returns when nothing is on its way any more.
func (f *Faulty) Close(ctx context.Context) error {
	f.mu.Lock()
	if !f.over {
		f.over = true
		close(f.closed)
	}
	f.mu.Unlock()
	err := f.Store.Close(ctx)
	f.busy.Wait()
	return err
}
