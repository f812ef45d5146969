package locktest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/fault"
)

// weather is the faults under which a rule runs.
type weather struct{ seed uint64 }

// locker is the root package over a session of its own, behind a network that can be made bad.
type locker struct {
	*tenure.Locker
	t     *trial
	store *fault.Store
}

type change func(*tenure.Options)

func noHandoff(o *tenure.Options) { o.NoHandoff = true }

func ttl(d time.Duration) change { return func(o *tenure.Options) { o.TTL = d } }

func note(text string) change {
	return func(o *tenure.Options) {
		self := driver.Self()
		self.Note = text
		o.Holder = &self
	}
}

// locker opens a session and makes a Locker over it.
func (t *trial) locker(changes ...change) *locker {
	plan := fault.Plan{Delay: t.TTL / 4}
	if t.faults != nil {
		t.faults.seed += 1000
		plan.Seed, plan.Fail, plan.Lose, plan.Late, plan.Overtake = t.faults.seed, 0.08, 0.08, 0.15, 0.05
	}
	opts := tenure.Options{TTL: t.lockerTTL()}
	for _, change := range changes {
		change(&opts)
	}
	store := fault.Wrap(t.openFor(opts.TTL).Store, plan)
	l := &locker{t: t, store: store}
	t.mu.Lock()
	t.calms = append(t.calms, store.Calm)
	t.after = append(t.after, func() {
		ctx, cancel := context.WithTimeout(context.Background(), t.TTL)
		defer cancel()
		_ = l.Locker.Close(ctx) // whatever the rule left is cut off
		_ = store.Close(ctx)
	})
	t.mu.Unlock()
	l.Locker = t.newLocker(store, changes...)
	return l
}

// over makes a Locker over a session that may have several.
func (t *trial) over(store driver.Store) *locker {
	l := &locker{t: t, Locker: t.newLocker(store)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.after = append(t.after, func() {
		ctx, cancel := context.WithTimeout(context.Background(), t.TTL)
		defer cancel()
		_ = l.Close(ctx)
	})
	return l
}

func (t *trial) newLocker(store driver.Store, changes ...change) *tenure.Locker {
	opts := tenure.Options{TTL: t.lockerTTL(), Logger: slog.New(slog.DiscardHandler)}
	if info := store.Info(); info.FixedTTL {
		opts.TTL = info.TTL
	}
	for _, change := range changes {
		change(&opts)
	}
	l, err := tenure.New(store, opts)
	t.no(err, "make a Locker")
	return l
}

// lockerTTL is short where time is fake, or where a rule waits for it. In real time a lease must bear a machine that
// stands still for a while.
func (t *trial) lockerTTL() time.Duration {
	if t.Bubble || t.faults != nil {
		return t.TTL
	}
	return t.long()
}

// calm ends the faults.
func (t *trial) calm() {
	for _, calm := range t.calms {
		calm()
	}
}

// must acquire a free name. Under faults that may take as long as their clean-up.
func (l *locker) must(name string) *tenure.Lease {
	ctx, cancel := context.WithTimeout(l.t.ctx, l.t.patience())
	defer cancel()
	lease, err := l.Acquire(ctx, name)
	l.t.no(err, "acquire %q, which is free or comes free", name)
	return lease
}

// patience is how long a name may stay taken that nobody holds any more.
func (t *trial) patience() time.Duration {
	if t.faults != nil {
		return 3*t.TTL + t.Prompt
	}
	return t.Prompt
}

// excused says whether faults explain an error.
func (t *trial) excused(err error) bool {
	return t.faults != nil && (errors.Is(err, tenure.ErrUnavailable) || errors.Is(err, tenure.ErrLost))
}

// answered asks again while faults keep the store from answering.
func (t *trial) answered(ask func() error) (err error) {
	t.until(t.patience(), func() bool {
		err = ask()
		return t.faults == nil || !errors.Is(err, tenure.ErrUnavailable)
	})
	return err
}

// gives back a lease that is held.
func (l *locker) gives(lease *tenure.Lease) {
	ctx, cancel := l.t.bounded()
	defer cancel()
	if err := lease.Release(ctx); !l.t.excused(err) {
		l.t.no(err, "release %q", lease.Name())
	}
}

// notStranded must find a name free soon, when all is calm and nobody holds it.
func (t *trial) notStranded(names ...string) {
	t.calm()
	l := t.locker()
	l.store.Calm()
	for _, name := range names {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.ctx, t.patience())
		lease, err := l.Acquire(ctx, name)
		cancel()
		t.want(err == nil, "%q is stranded: %v after everybody had left it, %v", name, time.Since(began), err)
		l.gives(lease)
	}
}

// complain notes what is wrong from any goroutine; the rule fails when it ends.
func (t *trial) complain(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.complaint == nil {
		t.complaint = fmt.Errorf(format, args...)
	}
}

func (t *trial) hasComplaint() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.complaint != nil
}

// witness sees to it that no two leases of a name are trusted at once, and that tokens rise.
type witness struct {
	t    *trial
	mu   sync.Mutex
	live map[*tenure.Lease]bool // whether it is shared
	last map[string]tenure.Token
}

func (t *trial) witness() *witness {
	return &witness{t: t, live: make(map[*tenure.Lease]bool), last: make(map[string]tenure.Token)}
}

// granted is called right after a lease was granted.
func (w *witness) granted(lease *tenure.Lease, shared bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for other, otherShared := range w.live {
		if other.Name() != lease.Name() || shared && otherShared {
			continue
		}
		if other.Err() == nil && lease.Err() == nil {
			w.t.complain("two leases of %q are trusted at once, with the tokens %d and %d", lease.Name(), other.Token(), lease.Token())
		}
	}
	// One that was lost since its grant says nothing: its successor may have come here first.
	if last := w.last[lease.Name()]; !shared && lease.Token() <= last && lease.Err() == nil {
		w.t.complain("token %d of %q came after %d", lease.Token(), lease.Name(), last)
	}
	w.last[lease.Name()] = max(w.last[lease.Name()], lease.Token())
	w.live[lease] = shared
}

// leaving is called right before a lease is released.
func (w *witness) leaving(lease *tenure.Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.live, lease)
}
