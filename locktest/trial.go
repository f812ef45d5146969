package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// trial is one run of one rule: its sessions, its names, and what must be ended after it.
type trial struct {
	Harness
	ctx    context.Context
	cancel context.CancelFunc
	info   driver.Info
	opener func(context.Context, time.Duration) (driver.Store, error)
	prefix string
	faults *weather // nil: fair

	group  sync.WaitGroup
	mu     sync.Mutex
	opened []driver.Store
	after  []func() // undo what was built over the sessions
	calms  []func() // end the faults

	complaint error
}

// failure ends a rule. Rules run in the goroutine of Check, which recovers it.
type failure string

func (t *trial) failf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// no fails on an error.
func (t *trial) no(err error, doing string, args ...any) {
	if err != nil {
		t.failf("%s: %v", fmt.Sprintf(doing, args...), err)
	}
}

// want fails on a condition that is not met.
func (t *trial) want(ok bool, format string, args ...any) {
	if !ok {
		t.failf(format, args...)
	}
}

func newTrial(ctx context.Context, h Harness, rule string, f *weather) (*trial, error) {
	t := &trial{Harness: h, opener: h.opener(), faults: f, prefix: "locktest/" + rand.Text()[:10] + "/" + rule}
	first, err := t.opener(ctx, h.complete(driver.Info{}).TTL)
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	t.info = first.Info()
	t.opened = append(t.opened, first)
	t.Harness = h.complete(t.info)
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t, nil
}

// end cancels and joins whatever the rule has left, and closes its sessions.
func (t *trial) end() error {
	t.cancel()
	for _, undo := range t.after {
		undo()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), t.Prompt)
	defer cancel()
	var failed []error
	for _, store := range t.opened {
		if err := store.Close(ctx); err != nil {
			failed = append(failed, fmt.Errorf("close a session: %w", err))
		}
	}
	joined := make(chan struct{})
	go func() { t.group.Wait(); close(joined) }()
	select {
	case <-joined:
	case <-time.After(t.Prompt + t.TTL):
		failed = append(failed, errors.New("a call did not return when its context had ended and its session was closed"))
	}
	return errors.Join(append([]error{t.complaint}, failed...)...)
}

// name makes a name of this rule's own.
func (t *trial) name(part string) string { return t.prefix + "/" + part }

// long is a TTL that does not run out while a rule runs.
func (t *trial) long() time.Duration {
	if t.info.FixedTTL && t.At == nil {
		return t.info.TTL
	}
	return max(20*t.TTL, time.Minute)
}

// start runs f in a goroutine that the trial joins. F must not fail the trial.
func (t *trial) start(f func()) <-chan struct{} {
	done := make(chan struct{})
	t.group.Add(1)
	go func() {
		defer t.group.Done()
		defer close(done)
		f()
	}()
	return done
}

// comes waits for a channel, and says whether it came in time.
func comes[T any](c <-chan T, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// until looks again and again, and says whether it came true in time.
func (t *trial) until(within time.Duration, look func() bool) bool {
	for end := time.Now().Add(within); ; t.pause(t.poll()) {
		if look() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// pause lets time pass, where it is time itself that a rule is about.
func (t *trial) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	comes(t.ctx.Done(), d)
}

// bounded is a context for calls that must answer promptly.
func (t *trial) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.ctx, t.Prompt)
}
