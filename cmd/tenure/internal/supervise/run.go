//go:build linux || darwin

package supervise

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/cmd/tenure/internal/child"
	"github.com/tenurelock/tenure/cmd/tenure/internal/group"
	"github.com/tenurelock/tenure/cmd/tenure/internal/guardian"
	"github.com/tenurelock/tenure/driver"
)

// Task is what is to be run.
type Task struct {
	Command, Env []string
	Lease        *tenure.Lease
	Renewed      <-chan struct{} // receives after renewals
	Signals      <-chan os.Signal
	Grace        time.Duration // from TERM to KILL
	Early        time.Duration // how long before the end of trust the group must be dead
	MaxHold      time.Duration // 0: no limit
	Say, Debug   func(format string, args ...any)
}

// Interrupted is a signal that came before the command was started.
type Interrupted struct{ Signal unix.Signal }

// Error names the signal.
func (i Interrupted) Error() string { return fmt.Sprintf("ended by %v", i.Signal) }

// run is a task on its way.
type run struct {
	Task
	guardian *guardian.Guardian
	child    *child.Child
	job      *job
	schedule schedule
	changed  <-chan struct{} // the grant depends on other descriptors
	awaited  int             // acknowledgements of the guardian that are missing
	awaiting time.Time       // since when

	reason     Reason
	lost       error
	ended      bool      // the command's first process has
	interrupts int       // SIGINTs that were passed on
	asked      time.Time // when the command was last asked to end, by a signal that was passed on
	rest       time.Duration
}

// Run starts the command and returns when it has ended; where it had to be ended, when its whole group has. The lease
// remains the caller's to release. An error means that no command was started.
func Run(task Task) (Outcome, error) {
	r := &run{Task: task, schedule: schedule{grace: task.Grace}}
	if err := r.start(); err != nil {
		return Outcome{}, err
	}
	r.loop()
	return r.finish(), nil
}

// start goes on to the moment at which the stub becomes the command. At no instant before or after can the command run
// without a guardian that knows its group and holds the grant's descriptors.
func (r *run) start() (err error) {
	if r.guardian, err = guardian.Start(r.Grace); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.guardian.Dismiss()
		}
	}()
	if r.child, err = child.Start(r.Command, r.Env); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.child.Abort()
		}
	}()
	if err := r.prepare(); err != nil {
		return err
	}
	if r.MaxHold > 0 {
		r.schedule.worn = time.Now().Add(r.MaxHold)
	}
	r.job = newJob(r.child.Group())
	if err := r.child.GoAhead(); err != nil {
		r.job.end()
		return err
	}
	r.Debug("process group %d, guarded by process %d", r.child.Group(), r.guardian.PID())
	return nil
}

// unready bounds the wait for a guardian, on a machine that has no time for it. The lease may end sooner.
const unready = 30 * time.Second

// prepare tells the guardian everything, and waits until it knows.
func (r *run) prepare() error {
	if err := r.handOver(); err != nil {
		return err
	}
	if err := r.renewed(); err != nil {
		return err
	}
	if err := r.guardian.Watch(r.child.Group()); err != nil {
		return err
	}
	r.awaited++
	timer := time.NewTimer(unready)
	defer timer.Stop()
	for r.awaited > 0 {
		select {
		case <-r.guardian.Acknowledged():
			r.awaited--
		case <-r.guardian.Ended():
			return errors.New("the guardian ended before the command began")
		case <-r.Renewed:
			if err := r.renewed(); err != nil {
				return err
			}
		case <-timer.C:
			return fmt.Errorf("the guardian was not ready within %v", unready)
		case <-r.Lease.Done():
			return r.Lease.Err()
		case sig := <-r.Signals:
			return Interrupted{sig.(unix.Signal)}
		}
	}
	select {
	case sig := <-r.Signals:
		return Interrupted{sig.(unix.Signal)}
	default:
		return r.Lease.Err()
	}
}

// handOver gives the guardian the descriptors on which the grant depends. It will acknowledge them.
func (r *run) handOver() error {
	set, err := r.Lease.Descriptors()
	if errors.Is(err, driver.ErrUnsupported) {
		return nil // nothing of this process keeps the grant alive, or ends it
	}
	if err != nil {
		return err
	}
	r.changed = set.Changed
	if err := r.guardian.Hold(set.FDs); err != nil {
		return err
	}
	r.awaited++
	r.awaiting = time.Now()
	return nil
}

// renewed takes up the lease's deadline, as it is now.
func (r *run) renewed() error {
	now := guardian.Now()
	until := r.Lease.Until()
	rest := time.Until(until)
	if r.Lease.Err() != nil {
		return nil // Done tells of it
	}
	r.schedule.extend(until.Add(-r.Early))
	return r.guardian.Deadline(now.Add(rest - r.Early/2)) // we come first, if we can
}

// finish is called when the loop is over.
func (r *run) finish() Outcome {
	r.guardian.Dismiss()
	if r.guardian.Acted() { // a moment ago, when the deadline had passed before we came to it
		r.because(RanOut)
	}
	status := r.child.Reap()
	r.job.end()
	out := Outcome{Reason: r.reason, Lost: r.lost, NotRun: r.child.Failed()}
	switch {
	case out.NotRun != nil:
		out.Status = child.Status(out.NotRun)
	case status.Signaled():
		out.Status = 128 + int(status.Signal())
	default:
		out.Status = status.ExitStatus()
	}
	return out
}

// over says whether there is nothing more to wait for.
func (r *run) over(now time.Time) bool {
	switch {
	case !r.ended:
		return false
	case r.reason != Finished:
		return r.allDead()
	case r.asked.IsZero() || !now.Before(r.asked.Add(r.Grace)):
		return true
	}
	// The whole group was asked to end, and the others may take a little longer than the first.
	return !group.Alive(r.child.Group())
}

// allDead makes sure that no member of the group is left. After KILL none can be added, so that a look that finds nobody
// is right; and the first is reaped, so that the group ceases to exist with its last member, which is certain even where
// another user's processes cannot be seen.
func (r *run) allDead() bool {
	if group.Alive(r.child.Group()) && !r.schedule.killed {
		return false
	}
	r.kill(r.reason)
	r.child.Reap()
	return !group.Alive(r.child.Group())
}
