package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// These rules run other processes, and kill and stop them.
var processRules = []Rule{
	{Name: "process/excludes", Says: "Two processes never hold one name at once, and tokens rise from one to the other.", needs: needs{process: true}, check: checkProcessesExclude},
	{Name: "process/killed-holder", Says: "The name of a holder that is killed is freed, and tokens rise over it.", needs: needs{process: true}, check: checkKilledHolder},
	{Name: "process/killed-waiter", Says: "A waiter that is killed holds up nobody.", needs: needs{process: true}, check: checkKilledWaiter},
	{
		Name: "process/stopped-holder", Says: "The name of a holder that is stopped is freed after its TTL, and when it wakes it has lost.",
		needs: needs{process: true, stops: true, promises: driver.StalledHolderFreed}, check: checkStoppedHolder,
	},
	{
		Name: "process/stopped-keeps", Says: "A holder that is stopped keeps the name; when it wakes after its TTL it has lost, and gives it back.",
		needs: needs{process: true, stops: true, breaks: driver.StalledHolderFreed}, check: checkStoppedHolderKeeps,
	},
	{Name: "process/stopped-waiter", Says: "A waiter that is stopped holds up others for no longer than its TTL.", needs: needs{process: true, stops: true}, check: checkStoppedWaiter},
}

// waiting has a locker of this process wait for a name that is held.
func (l *locker) waiting(name string) <-chan *tenure.Lease {
	got := make(chan *tenure.Lease, 1)
	waits := make(chan struct{}, 100)
	watched, err := l.With(func(o *tenure.Options) {
		o.Observer = &tenure.Observer{Wait: func(string, *tenure.Holder) {
			select {
			case waits <- struct{}{}:
			default:
			}
		}}
	})
	l.t.no(err, "watch a Locker")
	l.t.start(func() {
		lease, err := watched.Acquire(l.t.ctx, name)
		if err != nil {
			l.t.complain("wait: %w", err)
			return
		}
		got <- lease
	})
	// A store that cannot queue says nothing of a wait.
	if !comes(waits, l.t.Prompt/10) {
		l.t.want(len(got) == 0, "%q was granted to a second one", name)
	}
	return got
}

// gets must be granted within a time.
func (t *trial) gets(waiter <-chan *tenure.Lease, within time.Duration, after string) *tenure.Lease {
	select {
	case lease := <-waiter:
		return lease
	case <-time.After(within):
		t.failf("a waiter was not granted within %v after %s", within, after)
		return nil
	}
}

func checkProcessesExclude(t *trial) {
	name := t.name("x")
	here, there := t.locker(), t.child(t.long())
	token := there.holds(name)
	_, err := here.TryAcquire(t.ctx, name)
	var held *tenure.HeldError
	t.want(errors.As(err, &held), "a name that another process holds was not refused: %v", err)
	t.want(held.Holder.PID == there.cmd.Process.Pid, "the holder has the pid %d, but is told as %v", there.cmd.Process.Pid, held.Holder)
	waiter := here.waiting(name)
	there.tell("release")
	there.says("ok", startup)
	lease := t.gets(waiter, t.Prompt, "another process released it")
	t.want(lease.Token() > token, "token %d came after %d of another process", lease.Token(), token)
	there.tell("try %s", name)
	there.says("refused", startup)
	here.gives(lease)
	token = lease.Token()
	again := there.holds(name)
	t.want(again > token, "token %d came after %d of another process", again, token)
}

func checkKilledHolder(t *trial) {
	name := t.name("x")
	here, there := t.locker(), t.child(t.TTL)
	token := there.holds(name)
	waiter := here.waiting(name)
	there.kill()
	lease := t.gets(waiter, t.Freed, "its holder was killed")
	t.want(lease.Token() > token, "token %d came after %d of a process that was killed", lease.Token(), token)
	here.gives(lease)
}

func checkKilledWaiter(t *trial) {
	name := t.name("x")
	holder, other, there := t.locker(), t.locker(), t.child(t.TTL)
	lease := holder.must(name)
	there.waits(name)
	waiter := other.waiting(name)
	there.kill()
	holder.gives(lease)
	other.gives(t.gets(waiter, t.Freed+t.Prompt, "the one before it was killed and the holder released"))
	t.notStranded(name)
}

func checkStoppedHolder(t *trial) {
	name := t.name("x")
	here, there := t.locker(), t.child(t.TTL)
	token := there.holds(name)
	waiter := here.waiting(name)
	there.stop()
	lease := t.gets(waiter, t.TTL+t.Prompt, "its holder was stopped")
	t.want(lease.Token() > token, "token %d came after %d of a process that was stopped", lease.Token(), token)
	there.tell("check")
	there.resume()
	there.says("lost", startup)
	there.tell("release")
	there.says("lost", startup)
	t.pause(t.TTL / 4) // its clean-up must leave the newer lease alone
	t.want(lease.Err() == nil, "the newer lease was disturbed by a process that woke: %v", lease.Err())
	here.gives(lease)
}

func checkStoppedHolderKeeps(t *trial) {
	name := t.name("x")
	here, there := t.locker(), t.child(t.TTL)
	token := there.holds(name)
	there.stop()
	for end := time.Now().Add(2 * t.TTL); time.Now().Before(end); t.pause(t.TTL / 10) {
		_, err := here.TryAcquire(t.ctx, name)
		t.want(errors.Is(err, tenure.ErrHeld), "the name of a holder that is only stopped: %v", err)
	}
	there.tell("check")
	there.resume()
	there.says("lost", startup)
	ctx, cancel := context.WithTimeout(t.ctx, t.Prompt)
	defer cancel()
	lease, err := here.Acquire(ctx, name)
	t.no(err, "acquire what a process gave back that woke and had lost")
	t.want(lease.Token() > token, "token %d came after %d of a process that was stopped", lease.Token(), token)
	here.gives(lease)
}

func checkStoppedWaiter(t *trial) {
	name := t.name("x")
	holder, other, there := t.locker(), t.locker(), t.child(t.TTL)
	lease := holder.must(name)
	there.waits(name)
	waiter := other.waiting(name)
	there.stop()
	holder.gives(lease)
	lease = t.gets(waiter, t.TTL+t.Freed+t.Prompt, "the one before it was stopped and the holder released")
	there.resume()
	t.pause(t.TTL / 4) // a grant that it slept through must not disturb the newer lease
	t.want(lease.Err() == nil, "the lease was disturbed by a waiter that woke: %v", lease.Err())
	other.gives(lease)
	there.says("held", startup)
}
