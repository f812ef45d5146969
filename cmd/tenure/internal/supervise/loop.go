//go:build linux || darwin

package supervise

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure/cmd/tenure/internal/child"
)

// slow is how long a guardian may take to take up other descriptors.
const slow = 5 * time.Second

// How often the rest of a group is looked at.
const (
	minLook = time.Millisecond
	maxLook = 50 * time.Millisecond
)

// loop does what is due and follows what happens, until the command is over.
func (r *run) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	leaseOver, guardianEnded, begun := r.Lease.Done(), r.guardian.Ended(), r.child.Begun()
	for {
		now := time.Now()
		r.act(now)
		if r.over(now) {
			return
		}
		timer.Reset(r.pause(now))
		signals, stops := r.Signals, r.job.stops
		if begun != nil { // the stub would take them otherwise than the command
			signals, stops = nil, nil
		}
		select {
		case event := <-r.child.Events():
			r.changedState(event)
		case sig := <-signals:
			r.pass(sig)
		case sig := <-stops:
			r.job.received(sig)
		case <-r.Renewed:
			r.check(r.renewed())
		case <-leaseOver:
			leaseOver = nil
			r.leaseOver()
		case <-guardianEnded:
			guardianEnded = nil
			r.guardianEnded()
		case <-r.changed:
			r.changed = nil
			r.check(r.handOver())
		case <-r.guardian.Acknowledged():
			r.awaited--
		case <-begun:
			begun = nil
		case <-timer.C:
		}
	}
}

// act does what is due.
func (r *run) act(now time.Time) {
	switch step, why := r.schedule.due(now); step {
	case term:
		r.terminate(why)
	case kill:
		r.kill(why)
	}
	if r.job.suspended() && !now.Before(r.job.settled) {
		r.job.resume()
	}
	if r.awaited > 0 && now.Sub(r.awaiting) > slow {
		r.awaited = 0
		r.check(fmt.Errorf("the guardian has not taken up the grant's new descriptors for %v", slow))
	}
}

// pause is how long nothing will be due.
func (r *run) pause(now time.Time) time.Duration {
	at := now.Add(time.Hour)
	for _, other := range []time.Time{r.schedule.next(), r.settles(), r.expects()} {
		if !other.IsZero() && other.Before(at) {
			at = other
		}
	}
	pause := max(0, at.Sub(now))
	if r.ended {
		r.rest = min(max(2*r.rest, minLook), maxLook)
		pause = min(pause, r.rest)
	}
	return pause
}

func (r *run) settles() (at time.Time) {
	if r.job.suspended() {
		at = r.job.settled
	}
	return at
}

func (r *run) expects() (at time.Time) {
	if r.awaited > 0 {
		at = r.awaiting.Add(slow + time.Millisecond)
	}
	return at
}

func (r *run) changedState(event child.Event) {
	switch {
	case event.Ended:
		r.ended = true
		r.leaseOver() // if it is, since a moment ago
	case event.Stopped != 0:
		r.Debug("the command was stopped by %v", event.Stopped)
		r.job.stopped(event.Stopped)
	}
}

// leaseOver ends the command at once if the lease is lost: by the store's word or by time, it may be another's now.
func (r *run) leaseOver() {
	err := r.Lease.Err()
	if err == nil {
		return
	}
	r.lost = err
	r.kill(LostLock)
}

// guardianEnded ends the command, which from now on would be ended by nobody if we were killed.
func (r *run) guardianEnded() {
	if r.guardian.Acted() { // the deadline had passed while we were stopped
		r.kill(RanOut)
		return
	}
	r.terminate(NoGuardian)
}

// check is for what the guardian could not be told: it cannot be relied on any more.
func (r *run) check(err error) {
	if err == nil || r.reason != Finished {
		return
	}
	r.Say("%v", err)
	r.terminate(NoGuardian)
}

// because keeps the gravest reason, and says the first.
func (r *run) because(why Reason) {
	first := r.reason == Finished
	r.reason = max(r.reason, why)
	switch {
	case !first:
	case why == LostLock:
		r.Say("%v", r.lost)
	default:
		r.Say("%v", why)
	}
}

// terminate asks the group to end; the schedule has it killed when that takes too long.
func (r *run) terminate(why Reason) {
	r.because(why)
	if !r.schedule.termed.IsZero() || r.schedule.killed {
		return
	}
	r.schedule.termed = time.Now()
	r.signal(unix.SIGTERM)
	r.signal(unix.SIGCONT) // a stopped process does not see TERM
}

// kill ends the group.
func (r *run) kill(why Reason) {
	r.because(why)
	if r.schedule.killed {
		return
	}
	r.schedule.killed = true
	r.signal(unix.SIGKILL)
}
