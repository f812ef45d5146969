//go:build linux || darwin

package supervise

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/cmd/tenure/internal/child"
	"github.com/tenurelock/tenure/cmd/tenure/internal/group"
	"github.com/tenurelock/tenure/cmd/tenure/internal/guardian"
	"github.com/tenurelock/tenure/cmd/tenure/internal/self"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/memlock"
)

func TestMain(m *testing.M) {
	switch self.Role() {
	case self.Guardian:
		os.Exit(guardian.Main())
	case self.Command:
		os.Exit(child.Stub())
	}
	flag.Parse()
	// The tests wait for processes most of the time: more of them at once than there are processors.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const (
	patience = 20 * time.Second
	ttl      = 1500 * time.Millisecond
)

// trial is one run in this process, over a store that fails when it is told to.
type trial struct {
	t       *testing.T
	store   *faulty
	locker  *tenure.Locker
	lease   *tenure.Lease
	task    Task
	dir     string
	signals chan os.Signal

	mu    sync.Mutex
	words []string
}

// faulty is a memory whose renewals can fail, and whose grants can depend on descriptors.
type faulty struct {
	*memlock.Store
	down atomic.Bool
	sets chan driver.DescriptorSet // nil: it has no descriptors
}

func (f *faulty) Renew(ctx context.Context, batch []driver.Renewal) {
	if !f.down.Load() {
		f.Store.Renew(ctx, batch)
		return
	}
	for i := range batch {
		batch[i].Err = &driver.Fault{Kind: driver.Passing, Err: errors.New("the store is down")}
	}
}

func (f *faulty) Descriptors(driver.Ref) (driver.DescriptorSet, error) {
	if f.sets == nil {
		return driver.DescriptorSet{}, driver.Unsupported("descriptors")
	}
	return <-f.sets, nil
}

// newTrial makes one with a TTL that no busy machine outlasts.
func newTrial(t *testing.T, script string) *trial { return newTrialOf(t, time.Minute, script) }

// newShortTrial makes one whose lease can run out within a test.
func newShortTrial(t *testing.T, script string) *trial { return newTrialOf(t, ttl, script) }

func newTrialOf(t *testing.T, ttl time.Duration, script string) *trial {
	t.Parallel()
	tr := &trial{t: t, store: &faulty{Store: memlock.New(memlock.Options{})}, dir: t.TempDir(), signals: make(chan os.Signal, 4)}
	renewed := make(chan struct{}, 1)
	var err error
	observer := &tenure.Observer{Renew: func(*tenure.Lease, error) {
		select {
		case renewed <- struct{}{}:
		default:
		}
	}}
	tr.locker, err = tenure.New(tr.store, tenure.Options{TTL: ttl, Observer: observer, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if tr.lease, err = tr.locker.Acquire(t.Context(), "name"); err != nil {
		t.Fatal(err)
	}
	tr.task = Task{
		Command: []string{"sh", "-c", "cd " + tr.dir + "; " + script},
		Env:     os.Environ(),
		Lease:   tr.lease,
		Renewed: renewed,
		Signals: tr.signals,
		Grace:   200 * time.Millisecond,
		Early:   100 * time.Millisecond,
		Say:     tr.hear,
		Debug:   tr.hear,
	}
	t.Cleanup(func() {
		_ = tr.lease.Release(context.Background()) // some tests lose it
		if err := errors.Join(tr.locker.Close(context.Background()), tr.store.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return tr
}

func (tr *trial) hear(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.words = append(tr.words, fmt.Sprintf(format, args...))
}

// heard gives what was said, for the one line that begins so.
func (tr *trial) heard(prefix string) string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, line := range tr.words {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	return ""
}

// result is what Run returned.
type result struct {
	out Outcome
	err error
}

func (tr *trial) start() <-chan result {
	ended := make(chan result, 1)
	go func() {
		out, err := Run(tr.task)
		tr.hear("ended with %+v, %v", out, err)
		ended <- result{out, err}
	}()
	return ended
}

// pid waits for a process id in a file of the trial's.
func (tr *trial) pid(name string) (pid int) {
	tr.t.Helper()
	tr.until("a process id in "+name, func() bool {
		text, _ := os.ReadFile(filepath.Join(tr.dir, name))
		pid, _ = strconv.Atoi(strings.TrimSuffix(string(text), "\n"))
		return strings.HasSuffix(string(text), "\n")
	})
	return pid
}

// guardian waits for the guardian's process id.
func (tr *trial) guardian() (pid int) {
	tr.t.Helper()
	tr.until("the guardian's process id", func() bool {
		var group int
		n, _ := fmt.Sscanf(tr.heard("process group"), "process group %d, guarded by process %d", &group, &pid)
		return n == 2
	})
	return pid
}

func (tr *trial) until(what string, so func() bool) {
	tr.t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			tr.t.Fatalf("not within %v: %s\n%s", patience, what, strings.Join(tr.words, "\n"))
		}
	}
}

func (tr *trial) expect(ended <-chan result, status int, why Reason) {
	tr.t.Helper()
	select {
	case r := <-ended:
		if why == RanOut && r.out.Reason == LostLock {
			why = LostLock // on a busy machine it may be seen so late
		}
		if r.err != nil || r.out.Status != status || r.out.Reason != why {
			tr.t.Errorf("ended with status %d, %q, %v; want %d, %q\n%s",
				r.out.Status, r.out.Reason, r.err, status, why, strings.Join(tr.words, "\n"))
		}
	case <-time.After(patience):
		tr.t.Fatal("it goes on")
	}
}

func (tr *trial) mustBeDead(pid int) {
	tr.t.Helper()
	if id, err := unix.Getpgid(pid); err == nil && group.Alive(id) {
		tr.t.Error("a process of the command's group outlived the run")
	}
}

func (tr *trial) exists(name string) bool {
	_, err := os.Stat(filepath.Join(tr.dir, name))
	return err == nil
}

func TestItEndsByItself(t *testing.T) {
	tr := newTrial(t, "exit 3")
	tr.expect(tr.start(), 3, Finished)
	if err := tr.lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// A command that outlasts many renewals is left alone.
func TestRenewalsPutTheEndOff(t *testing.T) {
	tr := newShortTrial(t, "echo $$ >pid; while test ! -e go; do sleep 0.01; done; exit 4")
	ended := tr.start()
	tr.pid("pid")
	began := time.Now()
	tr.until("twice the TTL has passed", func() bool { return time.Since(began) > 2*ttl })
	if err := os.WriteFile(filepath.Join(tr.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tr.expect(ended, 4, Finished)
}

// H60: when renewals fail for too long, the command is asked to end while the lock is still ours.
func TestTermBeforeTheDeadline(t *testing.T) {
	tr := newShortTrial(t, "trap 'echo >asked; exit 0' TERM; sleep 60 & echo $! >pid; wait")
	ended := tr.start()
	pid := tr.pid("pid")
	tr.store.down.Store(true)
	tr.expect(ended, 0, RanOut)
	if !tr.exists("asked") {
		t.Error("it got no TERM")
	}
	tr.mustBeDead(pid)
}

// H58, H60: and killed if it does not, with its whole group.
func TestKillAtTheDeadline(t *testing.T) {
	tr := newShortTrial(t, "trap '' TERM; sleep 60 & echo $! >pid; wait")
	ended := tr.start()
	pid := tr.pid("pid")
	tr.store.down.Store(true)
	tr.expect(ended, 137, RanOut)
	tr.mustBeDead(pid)
}

// The rest of a group that is ended has as long as the first of it.
func TestTheWholeGroupIsAwaited(t *testing.T) {
	tr := newShortTrial(t, "(trap '' TERM; echo >deaf; exec sleep 60) & until test -e deaf; do sleep 0.01; done; echo $! >pid; wait")
	ended := tr.start()
	pid := tr.pid("pid")
	tr.store.down.Store(true)
	tr.expect(ended, 143, RanOut)
	tr.mustBeDead(pid)
}

// When the store says that the lock is gone, there is no time for TERM.
func TestKillAtOnceWhenLost(t *testing.T) {
	tr := newTrial(t, "trap 'echo >asked' TERM; sleep 60 & echo $! >pid; wait; wait")
	ended := tr.start()
	pid := tr.pid("pid")
	if tr.store.Lose("name") != 1 {
		t.Fatal("nothing to lose")
	}
	tr.expect(ended, 137, LostLock)
	if tr.exists("asked") {
		t.Error("it got TERM")
	}
	tr.mustBeDead(pid)
}

func TestMaxHold(t *testing.T) {
	tr := newTrial(t, "exec sleep 60")
	tr.task.MaxHold = 50 * time.Millisecond
	ended := tr.start()
	tr.expect(ended, 143, HeldTooLong)
	if err := tr.lease.Release(t.Context()); err != nil {
		t.Errorf("the lock was ours all the time, but %v", err)
	}
}

// Without its guardian the command is not left running, not even until the next renewal, which would notice it too.
func TestGuardianKilled(t *testing.T) {
	tr := newTrial(t, "trap '' TERM; sleep 60 & echo $! >pid; wait")
	ended := tr.start()
	pid := tr.pid("pid")
	guardian := tr.guardian()
	killed := time.Now()
	if err := unix.Kill(guardian, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tr.expect(ended, 137, NoGuardian)
	if took := time.Since(killed); took > patience/3 {
		t.Errorf("it ended only after %v", took)
	}
	tr.mustBeDead(pid)
}

// A guardian that does not react holds up the end, but not for ever.
func TestGuardianStopped(t *testing.T) {
	tr := newTrial(t, "echo $$ >pid; while test ! -e go; do sleep 0.01; done; exit 6")
	ended := tr.start()
	tr.pid("pid")
	if err := unix.Kill(tr.guardian(), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tr.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tr.expect(ended, 6, Finished)
}

// What is over before the command began has it never begin.
func TestNotBegun(t *testing.T) {
	t.Run("signal", func(t *testing.T) {
		tr := newTrial(t, "echo >ran")
		tr.signals <- unix.SIGTERM
		r := <-tr.start()
		if got := (Interrupted{}); !errors.As(r.err, &got) || got.Signal != unix.SIGTERM || tr.exists("ran") {
			t.Errorf("%v; ran: %v", r.err, tr.exists("ran"))
		}
	})
	t.Run("lost", func(t *testing.T) {
		tr := newTrial(t, "echo >ran")
		tr.store.Lose("name")
		if r := <-tr.start(); !errors.Is(r.err, tenure.ErrLost) || tr.exists("ran") {
			t.Errorf("%v; ran: %v", r.err, tr.exists("ran"))
		}
	})
}

// After a signal that asks the whole group to end, the lock is kept while the rest of it does.
func TestTheRestMayTakeLonger(t *testing.T) {
	tr := newTrial(t, "(trap 'sleep 0.05; echo >clean; exit' TERM; echo >ready; while :; do sleep 0.01; done) & "+
		"until test -e ready; do sleep 0.01; done; echo $$ >pid; wait")
	tr.task.Grace = 400 * time.Millisecond
	ended := tr.start()
	tr.pid("pid")
	tr.signals <- unix.SIGTERM
	select {
	case r := <-ended:
		if r.out.Status != 143 || !tr.exists("clean") {
			t.Errorf("status %d; the rest had ended: %v", r.out.Status, tr.exists("clean"))
		}
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
}

// The guardian holds the descriptors of the grant as it is, also after a reconnect.
func TestDescriptorsChange(t *testing.T) {
	tr := newTrial(t, "echo $$ >pid; while test ! -e go; do sleep 0.01; done")
	tr.store.sets = make(chan driver.DescriptorSet, 2)
	changed := make(chan struct{})
	first, firstPeer := pair(t)
	second, secondPeer := pair(t)
	tr.store.sets <- driver.DescriptorSet{FDs: []int{first}, Changed: changed}
	tr.store.sets <- driver.DescriptorSet{FDs: []int{second}}
	ended := tr.start()
	tr.pid("pid")
	if err := silent(firstPeer); err != nil {
		t.Errorf("the first descriptor is not held: %v", err)
	}
	close(changed)
	if err := closed(firstPeer); err != nil {
		t.Fatalf("the first descriptor was not closed: %v", err)
	}
	if err := silent(secondPeer); err != nil {
		t.Errorf("the second descriptor is not held: %v", err)
	}
	if err := os.WriteFile(filepath.Join(tr.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tr.expect(ended, 0, Finished)
	if err := closed(secondPeer); err != nil {
		t.Errorf("the second descriptor was not closed: %v", err)
	}
}

// pair makes two connected sockets: a descriptor for the guardian, and its peer.
func pair(t *testing.T) (fd int, peer net.Conn) {
	t.Helper()
	ours, theirs, err := self.SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(ours), "peer")
	defer file.Close()
	if peer, err = net.FileConn(file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = peer.Close() })
	if err := peer.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return theirs, peer
}

// silent says that the other end is open: writing to it works. (Closed, it would be EPIPE at once.)
func silent(peer net.Conn) error {
	_, err := peer.Write([]byte{1})
	return err
}

// closed waits until the other end is closed. Linux says so by ECONNRESET where what silent wrote was not read.
func closed(peer net.Conn) error {
	switch _, err := peer.Read(make([]byte, 1)); {
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET):
		return nil
	case err == nil:
		return errors.New("it was written to")
	default:
		return err
	}
}
