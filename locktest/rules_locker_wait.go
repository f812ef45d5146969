package locktest

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

var lockerWaitRules = []Rule{
	{Name: "locker/gave-up", Says: "A caller whose context ends hears that, and who held the name, and leaves nothing behind.", needs: needs{bears: true}, check: checkLockerGivesUp},
	{Name: "locker/all", Says: "Calls of AcquireAll do not deadlock, whatever the order of their names.", needs: needs{bears: true}, check: checkAcquireAll},
	{Name: "locker/fair", Says: "A busy process does not starve another one.", needs: needs{promises: driver.FirstInFirstOut}, check: checkNobodyStarves},
	{Name: "locker/close", Says: "Closing a Locker ends its waiters at once with ErrClosed, and waits for its holders.", needs: needs{bears: true}, check: checkLockerClose},
	{Name: "locker/hammer", Says: "Whatever callers do at once, no two leases are trusted together, and nothing is stranded.", needs: needs{bears: true}, check: checkHammer},
}

func checkLockerGivesUp(t *trial) {
	name := t.name("x")
	holder, other := t.locker(note("the holder")), t.locker()
	lease := holder.must(name)
	within := 30 * t.poll()
	if !t.Bubble {
		within = t.Prompt / 5 // a question must be answered by then, on a busy machine too
	}
	ctx, cancel := context.WithTimeout(t.ctx, within)
	defer cancel()
	began := time.Now()
	_, err := other.Acquire(ctx, name)
	t.want(time.Since(began) < within+t.Prompt, "a wait for %v took %v", within, time.Since(began))
	var held *tenure.HeldError
	t.want(errors.Is(err, context.DeadlineExceeded), "a wait that ended with its context said: %v", err)
	if !t.excused(err) {
		t.want(errors.As(err, &held), "a wait that ended with its context does not say who held the name: %v", err)
		t.want(held.Holder.Note == "the holder" || t.info.ListsAfter > 0, "a wait that ended says that the holder was %v", held.Holder)
	}
	holder.gives(lease)
	t.notStranded(name)
}

func checkAcquireAll(t *trial) {
	names := []string{t.name("a"), t.name("b"), t.name("c"), t.name("d")}
	w := t.witness()
	var done []<-chan struct{}
	for s := range 3 {
		l := t.locker()
		done = append(done, t.start(func() {
			random := rand.New(rand.NewPCG(uint64(s), 3))
			for range 6 {
				order := random.Perm(len(names))
				wanted := []string{names[order[0]], names[order[1]], names[order[2]]}
				ctx, cancel := context.WithTimeout(t.ctx, 30*t.patience())
				leases, err := l.AcquireAll(ctx, wanted...)
				cancel()
				if err != nil {
					if !t.excused(err) || errors.Is(err, context.DeadlineExceeded) {
						t.complain("AcquireAll: %w", err)
					}
					return
				}
				for _, lease := range leases {
					w.granted(lease, false)
				}
				t.pause(t.poll())
				for _, lease := range leases {
					w.leaving(lease)
				}
				if err := leases.Release(t.ctx); err != nil && !t.excused(err) {
					t.complain("release of several: %w", err)
				}
			}
		}))
	}
	for _, d := range done {
		t.want(comes(d, 200*t.patience()), "callers of AcquireAll wait for each other")
	}
	t.notStranded(names...)
}

func checkNobodyStarves(t *trial) {
	name := t.name("x")
	busy, other := t.locker(), t.locker()
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	for range 4 {
		t.start(func() {
			for ctx.Err() == nil {
				lease, err := busy.Acquire(ctx, name)
				if err != nil {
					return
				}
				t.pause(t.poll())
				_ = lease.Release(t.ctx)
			}
		})
	}
	for range 5 {
		t.pause(5 * t.poll()) // until it is busy again
		waiting, stop := context.WithTimeout(t.ctx, t.Prompt)
		lease, err := other.Acquire(waiting, name)
		stop()
		t.no(err, "acquire a name that another process uses all the time")
		other.gives(lease)
	}
}

func checkLockerClose(t *trial) {
	name := t.name("x")
	holder, other := t.locker(), t.locker()
	lease := other.must(name)
	held := holder.must(t.name("held"))
	waiters := make(chan error, 2)
	for range 2 {
		t.start(func() {
			_, err := holder.Acquire(t.ctx, name)
			waiters <- err
		})
	}
	t.pause(5 * t.poll())
	closed := make(chan error, 1)
	t.start(func() { closed <- holder.Close(t.ctx) })
	for range 2 {
		select {
		case err := <-waiters:
			t.want(errors.Is(err, tenure.ErrClosed), "a waiter of a closed Locker got: %v", err)
		case <-time.After(t.Prompt):
			t.failf("a waiter of a closed Locker did not return within %v", t.Prompt)
		}
	}
	t.want(len(closed) == 0 && held.Err() == nil, "Close did not wait for the holder")
	_, err := holder.TryAcquire(t.ctx, t.name("more"))
	t.want(errors.Is(err, tenure.ErrClosed), "a closed Locker said: %v", err)
	holder.gives(held)
	select {
	case err := <-closed:
		t.no(err, "close a Locker")
	case <-time.After(2 * t.patience()):
		t.failf("Close did not return within %v after the last release", 2*t.patience())
	}
	other.gives(lease)
	t.notStranded(name, t.name("held"))
}

// checkHammer has callers of several sessions wait, try, give up and hold, at random.
func checkHammer(t *trial) {
	names := []string{t.name("a"), t.name("b")}
	w := t.witness()
	seed := uint64(1)
	if t.faults != nil {
		seed = t.faults.seed
	}
	var done []<-chan struct{}
	for s := range 3 {
		changes := []change{}
		if s == 2 {
			changes = append(changes, noHandoff)
		}
		l := t.locker(changes...)
		for c := range 4 {
			random := rand.New(rand.NewPCG(seed, uint64(s*10+c)))
			done = append(done, t.start(func() {
				for range 15 {
					t.hammer(l, names[random.IntN(2)], w, random)
				}
			}))
		}
	}
	for _, d := range done {
		t.want(comes(d, 100*t.patience()), "callers wait for ever")
	}
	t.notStranded(names...)
}

func (t *trial) hammer(l *locker, name string, w *witness, random *rand.Rand) {
	if t.hasComplaint() {
		return
	}
	ctx, cancel := context.WithTimeout(t.ctx, time.Duration(random.IntN(40))*t.poll())
	defer cancel()
	ask := l.Acquire
	if random.IntN(3) == 0 {
		ask = l.TryAcquire
	}
	lease, err := ask(ctx, name)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, tenure.ErrHeld) && !t.excused(err) {
			t.complain("acquire: %w", err)
		}
		return
	}
	w.granted(lease, false)
	if random.IntN(2) == 0 {
		t.pause(time.Duration(random.IntN(3)) * t.poll())
	}
	w.leaving(lease)
	if err := lease.Release(ctx); err != nil && !t.excused(err) {
		t.complain("release: %w", err)
	}
}
