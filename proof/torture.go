package proof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// Config is a torture's. Open must be set; the zero values of the rest stand for something useful.
type Config struct {
	// Seed decides what each client does, one thing after the other. How they come together is the scheduler's doing, so
	// a seed makes a failure likely to come again, not certain.
	Seed uint64
	// Open opens one more session with the store that is tortured.
	Open func(ctx context.Context) (driver.Store, error)
	// Lose makes the store forget who holds a name. Nil: there is no way. Untold says that it does not tell the holder.
	Lose   func(name string)
	Untold bool
	// Break makes the store end sessions, as by a crash, and returns when it answers again. Whatever is held may be lost then,
	// unless the store promises otherwise. Nil: there is no way.
	Break func(rng *rand.Rand) error
	// Resource is what the leases protect. Default: guarded registers in this process.
	Resource Resource

	Sessions int           // default 3
	Clients  int           // of each session; default 4
	Ops      int           // of each client; default 40
	TTL      time.Duration // default: the store's
	Pace     time.Duration // the length of a short pause; default a 40th of the TTL
	Names    []string      // default: 3 of them
	Slots    int           // of the group "pool"; default 2
	Faults   Faults

	// Clock of the history; default [ProcessClock].
	Clock Clock
	// Exact says that time is fake, so nobody is ever late for want of a processor: what is to come at once must.
	Exact bool
}

func (c Config) complete() Config {
	c.Sessions, c.Clients, c.Ops = orElse(c.Sessions, 3), orElse(c.Clients, 4), orElse(c.Ops, 40)
	c.Slots = orElse(c.Slots, 2)
	if len(c.Names) == 0 {
		c.Names = []string{"stock", "report/täglich", "..\\a b"}
	}
	if c.Resource == nil {
		c.Resource = NewRegisters()
	}
	if c.Clock == nil {
		c.Clock = ProcessClock()
	}
	return c
}

func orElse(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// group is the name whose slots are tortured.
const group = "pool"

// torture is one run.
type torture struct {
	Config
	recorder *Recorder
	sessions []*session
	info     driver.Info
	quiet    *slog.Logger

	mu     sync.Mutex
	faults []error
}

// Torture opens sessions and lets clients do at random all that can be done with leases, while what can go wrong does.
// In the end it looks whether anything was promised that was not kept: trusted intervals that overlap, tokens that do
// not rise, a guarded register that is not linearizable, a loss that was not told, an error that nobody should see, a
// name that nobody can have any more. The error begins with the seed. It leaves no goroutine behind.
func Torture(ctx context.Context, config Config) (History, error) {
	t := newTorture(config)
	history, err := t.run(ctx)
	if err != nil {
		return history, fmt.Errorf("TENURE_SEED=%d: %w", t.Seed, err)
	}
	return history, nil
}

func newTorture(config Config) *torture {
	t := &torture{Config: config.complete(), quiet: slog.New(slog.NewTextHandler(io.Discard, nil))}
	t.recorder = NewRecorder(t.Clock)
	t.recorder.anchor()
	return t
}

func (t *torture) run(ctx context.Context) (History, error) {
	for i := range t.Sessions {
		s := newSession(t, i+1)
		if err := s.open(ctx); err != nil {
			return nil, errors.Join(err, t.closeAll(ctx))
		}
		t.sessions = append(t.sessions, s)
	}
	t.work(ctx)
	for _, s := range t.sessions {
		s.heal()
	}
	t.failIf(t.finish(ctx))
	t.failIf(t.closeAll(ctx))
	t.failIf(t.leftOver(ctx))
	allTold()
	history, err := t.recorder.History()
	t.failIf(err)
	if t.Untold {
		t.failIf(CheckBroken(history))
	} else {
		t.failIf(Check(history))
	}
	if t.Exact {
		t.failIf(CheckPunctual(history, time.Millisecond))
	}
	return history, brief(errors.Join(t.faults...))
}

// work runs the clients, and the operator beside them, until the clients have done all they had to.
func (t *torture) work(ctx context.Context) {
	var clients sync.WaitGroup
	for _, s := range t.sessions {
		for i := range t.Clients {
			c := newClient(t, s, i+1)
			clients.Go(func() {
				for range t.Ops {
					c.step(ctx)
				}
			})
		}
	}
	operating, stop := context.WithCancel(ctx)
	var operator sync.WaitGroup
	operator.Go(func() { newOperator(t).run(operating) })
	clients.Wait()
	stop()
	operator.Wait()
}

// fail notes what should not have been.
func (t *torture) fail(format string, args ...any) { t.failIf(fmt.Errorf(format, args...)) }

func (t *torture) failIf(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.faults) < 20 {
		t.faults = append(t.faults, err)
	}
}

func (t *torture) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(t.Seed, stream)) }

// slack is how late an answer may be that should come at once.
func (t *torture) slack() time.Duration {
	if t.Exact {
		return time.Millisecond
	}
	return 10 * time.Second
}

// every gives all names that somebody may hold.
func (t *torture) every() []string {
	all := append([]string(nil), t.Names...)
	if t.info.Features.Has(driver.CanSlots) {
		for i := range t.Slots {
			all = append(all, fmt.Sprintf("%s#%d", group, i+1))
		}
	}
	return all
}

// finish has a fresh session acquire every name, while the sessions are still open and only their clients are gone:
// nothing may be stranded for longer than the clean-up of a request that is late takes.
func (t *torture) finish(ctx context.Context) (err error) {
	store, err := t.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(ctx)) }()
	t.info = store.Info() // of the sessions too, unless those are other processes'
	locker, err := tenure.New(store, tenure.Options{TTL: t.TTL, Logger: t.quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.Close(ctx)) }()
	log := t.recorder.Client("fresh")
	bound := t.stranding()
	var had tenure.Leases
	take := func(locker *tenure.Locker, name string) {
		limited, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		op := log.Call(Op{Verb: Acquire, Name: name, Until: Never})
		lease, err := locker.Acquire(limited, name)
		if err != nil {
			report, _ := store.Inspect(ctx, name)
			t.fail("%q is stranded: nobody could have it in %v: %w\n\tit is held by %v, and %v wait", name, bound, err, report.Holders, report.Waiters)
			return
		}
		log.Return(op, func(op *Op) {
			op.Name, op.Token, op.Until, op.Outcome = lease.Name(), lease.Token(), log.until(lease), OK
		})
		had = append(had, lease)
	}
	for _, name := range t.Names {
		take(locker, name)
	}
	if t.info.Features.Has(driver.CanSlots) {
		for range t.Slots {
			take(locker.Slots(t.Slots), group)
		}
	}
	for _, lease := range had {
		log.Event(Op{Verb: Release, Name: lease.Name(), Token: lease.Token(), Outcome: "begun"})
		if err := lease.Release(ctx); err != nil {
			t.fail("the lease of %q that a fresh session had: %w", lease.Name(), err)
		}
	}
	return nil
}

// stranding is how long a name may be taken for nobody: while a lost answer is cleaned up behind, which is tried every
// eighth of a TTL at least; and for a TTL more where an acquisition may still be on its way for so long.
func (t *torture) stranding() time.Duration {
	bound := t.longestTTL()/8 + 2*t.Faults.Delay + 100*time.Millisecond + t.slack()
	if t.Faults.Late > 0 {
		bound += t.longestTTL()
	}
	return bound
}

// longestTTL is that of the lockers that ask for more than the others.
func (t *torture) longestTTL() time.Duration {
	if t.info.FixedTTL {
		return t.ttl()
	}
	return 2 * t.ttl()
}

func (t *torture) ttl() time.Duration {
	if t.TTL != 0 {
		return t.TTL
	}
	return t.info.TTL
}

func (t *torture) pace() time.Duration {
	if t.Pace != 0 {
		return t.Pace
	}
	return t.ttl() / 40
}

func (t *torture) closeAll(ctx context.Context) error {
	var failed []error
	for _, s := range t.sessions {
		failed = append(failed, s.close(ctx))
	}
	return errors.Join(failed...)
}

// leftOver looks whether the store still knows of anybody when all have gone.
func (t *torture) leftOver(ctx context.Context) error {
	store, err := t.Open(ctx)
	if err != nil {
		return err
	}
	for _, name := range append(t.every(), group) {
		report, err := store.Inspect(ctx, name)
		if err != nil || len(report.Holders)+len(report.Waiters) > 0 {
			t.fail("%q is not free when all have gone: held by %v, and %v wait: %w", name, report.Holders, report.Waiters, err)
		}
	}
	return store.Close(ctx)
}
