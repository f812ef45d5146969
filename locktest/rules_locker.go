package locktest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// These rules are about the store and the root package together.
var lockerRules = []Rule{
	{Name: "locker/process", Says: "Two Lockers over one store exclude each other as two processes do.", needs: needs{bears: true}, check: checkTwoLockers},
	{Name: "locker/held", Says: "A refused caller learns who holds the name.", needs: needs{bears: true}, check: checkHeldNamesHolder},
	{Name: "locker/lost", Says: "A lease whose session is cut off ends with ErrLost before the name passes on, and for good.", needs: needs{bears: true}, check: checkLostInTime},
	{Name: "locker/renewed", Says: "A lease is renewed for as long as it is held.", needs: needs{bears: true}, check: checkLeaseIsKept},
	{Name: "locker/do", Says: "Do gives the name back on an error, a panic and a Goexit, before it returns.", needs: needs{bears: true}, check: checkDo},
	{Name: "locker/once", Says: "OncePer lets one process do the work of a period.", needs: remembering, check: checkLockerOncePer},
	{Name: "locker/tokens", Says: "Tokens rise over hand-offs and grants, and no two leases are trusted at once.", needs: needs{bears: true}, check: checkTokensRise},
	{Name: "locker/shared", Says: "Shared leases are beside each other, never beside an exclusive one.", needs: needs{features: driver.CanShare, bears: true}, check: checkLockerShared},
	{Name: "locker/slots", Says: "Slot leases are at most as many as there are slots, each exclusive.", needs: needs{features: driver.CanSlots, bears: true}, check: checkLockerSlots},
}

func checkTwoLockers(t *trial) {
	name := t.name("x")
	store := t.open().Store // bare, since it is the store's Local on which this rests
	first, second := t.over(store), t.over(store)
	lease := first.must(name)
	err := t.answered(func() error { _, err := second.TryAcquire(t.ctx, name); return err })
	t.want(errors.Is(err, tenure.ErrHeld), "a second Locker over one store was not refused: %v", err)
	got := make(chan *tenure.Lease, 1)
	t.start(func() {
		lease, err := second.Acquire(t.ctx, name)
		if err != nil {
			t.complain("a waiter of a second Locker: %w", err)
		}
		got <- lease
	})
	t.pause(5 * t.poll())
	t.want(len(got) == 0, "a second Locker over one store was granted what the first one holds")
	first.gives(lease)
	t.want(t.until(t.patience(), func() bool { return len(got) == 1 }), "the second Locker's waiter was not granted within %v", t.patience())
	if lease = <-got; lease != nil {
		second.gives(lease)
	}
}

func checkHeldNamesHolder(t *trial) {
	name := t.name("x")
	holder, other := t.locker(note("nightly report")), t.locker()
	lease := holder.must(name)
	err := t.answered(func() error { _, err := other.TryAcquire(t.ctx, name); return err })
	var held *tenure.HeldError
	t.want(errors.As(err, &held) && errors.Is(err, tenure.ErrHeld), "a refused caller got: %v", err)
	late := t.info.ListsAfter > 0 // such a store knows no more than the process at first
	t.want((late || held.Holder.Note == "nightly report" && !held.Holder.Since.IsZero()) && held.Holder.PID != 0,
		"a refused caller is told that the holder is %+v", held.Holder)
	holder.gives(lease)
}

func checkLostInTime(t *trial) {
	name := t.name("x")
	cut, other := t.locker(ttl(t.TTL)), t.locker()
	lease := cut.must(name)
	under := lease.Context(t.ctx)
	cut.store.Cut()
	granted := make(chan driver.Instant, 1)
	next := make(chan *tenure.Lease, 1)
	t.start(func() {
		lease, err := other.Acquire(t.ctx, name)
		if err == nil {
			granted <- driver.Now()
			next <- lease
		}
	})
	t.want(comes(under.Done(), t.TTL+t.Prompt), "the lease of a session that is cut off was not over after %v", t.TTL+t.Prompt)
	ended := driver.Now()
	select {
	case at := <-granted:
		t.want(!at.Before(ended), "another session was granted the name %v before the lease was over", ended.Sub(at))
	default:
	}
	t.want(errors.Is(context.Cause(under), tenure.ErrLost) && errors.Is(lease.Err(), tenure.ErrLost),
		"the cut lease ended with %v, and says %v", context.Cause(under), lease.Err())
	if !t.info.Guarantees.Promises.Has(driver.StalledHolderFreed) {
		cut.store.Heal() // it frees the name itself, as soon as it can
	}
	t.want(t.until(2*t.TTL+t.Prompt, func() bool { return len(next) == 1 }), "the name of a lost lease was not granted to another session within %v", 2*t.TTL+t.Prompt)
	newer := <-next
	t.want(newer.Token() > lease.Token(), "token %d came after %d", newer.Token(), lease.Token())
	cut.store.Heal()
	t.want(errors.Is(lease.Release(t.ctx), tenure.ErrLost), "the release of a lost lease does not say ErrLost")
	t.pause(t.TTL / 2) // the clean-up of the lost lease must leave the newer one alone
	t.want(newer.Err() == nil, "the newer lease was disturbed by the one that was lost: %v", newer.Err())
	t.want(lease.Err() != nil && lease.Fence().IsZero(), "a lost lease came back")
	other.gives(newer)
}

func checkLeaseIsKept(t *trial) {
	name := t.name("x")
	w := t.witness()
	holder, other := t.locker(ttl(t.TTL)), t.locker(ttl(t.TTL))
	lease := holder.must(name)
	w.granted(lease, false)
	for end := time.Now().Add(3 * t.TTL); time.Now().Before(end) && !t.hasComplaint(); t.pause(t.TTL / 16) {
		got, err := other.TryAcquire(t.ctx, name)
		if err == nil {
			w.granted(got, false)
			w.leaving(got)
			other.gives(got)
		}
		if lease.Err() != nil { // by faults, or since this machine stood still
			t.want(t.faults != nil || !t.Bubble, "a lease was lost while its session was well: %v", lease.Err())
			lease = holder.must(name)
			w.granted(lease, false)
		}
	}
	w.leaving(lease)
	holder.gives(lease)
	t.notStranded(name)
}

func checkDo(t *trial) {
	a, b := t.locker(), t.locker()
	broken := errors.New("the work failed")
	for part, work := range map[string]func() error{
		"error":  func() error { return broken },
		"nil":    func() error { return nil },
		"panic":  func() error { panic(broken) },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		name := t.name(part)
		var did error
		done := t.start(func() {
			defer func() { _ = recover() }()
			did = a.Do(t.ctx, name, func(context.Context, *tenure.Lease) error { return work() })
		})
		t.want(comes(done, 2*t.patience()), "Do did not return within %v after its function's %s", 2*t.patience(), part)
		t.want(part != "error" || errors.Is(did, broken), "Do returned %v, not the function's error", did)
		t.want(part != "nil" || did == nil || t.excused(did), "Do returned %v after a function that returned nil", did)
		if t.faults == nil { // at once
			lease, err := b.TryAcquire(t.ctx, name)
			t.no(err, "acquire what Do gave back after a function's %s", part)
			b.gives(lease)
			continue
		}
		b.gives(b.must(name))
	}
}

func checkLockerOncePer(t *trial) {
	name := t.name("x")
	daily := func(o *tenure.Options) { o.OncePer = t.period() }
	a, b := t.locker(daily), t.locker(daily)
	nothing := func(context.Context, *tenure.Lease) error { return nil }
	t.no(a.TryDo(t.ctx, name, nothing), "the first run of a period")
	for _, l := range []*locker{b, a} {
		err := l.TryDo(t.ctx, name, nothing)
		t.want(errors.Is(err, tenure.ErrDone), "the second run of a period said: %v", err)
		err = l.Do(t.ctx, name, nothing)
		t.want(errors.Is(err, tenure.ErrDone), "the second run of a period said, when it could have waited: %v", err)
	}
}

// crowd has several sessions' callers acquire one name again and again.
func (t *trial) crowd(sessions, callers, rounds int, name string, w *witness, as func(*tenure.Locker) *tenure.Locker) {
	var done []<-chan struct{}
	for s := range sessions {
		l := t.locker()
		for range callers {
			done = append(done, t.start(func() {
				for range rounds {
					t.visit(as(l.Locker), name, w, s%2 == 1)
				}
			}))
		}
	}
	for _, d := range done {
		t.want(comes(d, time.Duration(sessions*callers*rounds)*t.patience()), "callers of one name wait for ever")
	}
}

// visit is one caller's lease.
func (t *trial) visit(l *tenure.Locker, name string, w *witness, long bool) {
	if t.hasComplaint() {
		return
	}
	lease, err := l.Acquire(t.ctx, name)
	if err != nil {
		t.complain("acquire: %w", err)
		return
	}
	w.granted(lease, false)
	if long {
		t.pause(t.poll())
	}
	w.leaving(lease)
	if err := lease.Release(t.ctx); err != nil && !t.excused(err) {
		t.complain("release: %w", err)
	}
}

func checkTokensRise(t *trial) {
	name := t.name("x")
	t.crowd(3, 4, 8, name, t.witness(), func(l *tenure.Locker) *tenure.Locker { return l })
	t.notStranded(name)
}

func checkLockerSlots(t *trial) {
	name := t.name("pool")
	t.crowd(3, 4, 5, name, t.witness(), func(l *tenure.Locker) *tenure.Locker { return l.Slots(3) })
	t.notStranded(name+"#1", name+"#2", name+"#3")
}

func checkLockerShared(t *trial) {
	name, w := t.name("x"), t.witness()
	var done []<-chan struct{}
	for range 3 {
		l := t.locker()
		for range 3 {
			done = append(done, t.start(func() {
				for range 6 {
					t.read(l.Shared(), name, w)
				}
			}))
		}
		done = append(done, t.start(func() {
			for range 4 {
				t.visit(l.Locker, name, w, true)
			}
		}))
	}
	for _, d := range done {
		t.want(comes(d, 100*t.patience()), "readers and writers wait for ever")
	}
	t.notStranded(name)
}

// read is one reader's lease.
func (t *trial) read(l *tenure.Locker, name string, w *witness) {
	if t.hasComplaint() {
		return
	}
	lease, err := l.Acquire(t.ctx, name)
	if err != nil {
		t.complain("acquire shared: %w", err)
		return
	}
	w.granted(lease, true)
	t.pause(t.poll())
	w.leaving(lease)
	if err := lease.Release(t.ctx); err != nil && !t.excused(err) {
		t.complain("release shared: %w", err)
	}
}
