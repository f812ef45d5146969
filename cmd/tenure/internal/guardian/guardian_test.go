//go:build linux || darwin

package guardian

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure/cmd/tenure/internal/group"
	"github.com/tenurelock/tenure/cmd/tenure/internal/self"
)

func TestMain(m *testing.M) {
	if self.Role() == self.Guardian {
		os.Exit(Main())
	}
	goleak.VerifyTestMain(m)
}

const long = 20 * time.Second

// scene is a guardian, a group that it guards, and a locked file that it holds.
type scene struct {
	*testing.T
	guardian *Guardian
	command  *exec.Cmd
	group    int
	file     *os.File
}

func newScene(t *testing.T, grace time.Duration, script string) *scene {
	t.Parallel()
	g, err := Start(grace)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{T: t, guardian: g}
	t.Cleanup(g.Dismiss)
	s.file, err = os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.file.Close() })
	if err := unix.Flock(int(s.file.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	s.command = exec.Command("sh", "-c", script)
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := s.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	s.group = s.command.Process.Pid
	t.Cleanup(func() {
		_ = group.Signal(s.group, unix.SIGKILL)
		_ = s.command.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it has begun
		t.Fatal(err)
	}
	fd, err := unix.FcntlInt(s.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.told(g.Hold([]int{fd}))
	s.told(g.Watch(s.group))
	return s
}

// told waits until the guardian has acknowledged something.
func (s *scene) told(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	select {
	case <-s.guardian.Acknowledged():
	case <-s.guardian.Ended():
		s.Fatal("the guardian has ended")
	case <-time.After(long):
		s.Fatal("the guardian does not acknowledge")
	}
}

// acts waits until the guardian has ended the group.
func (s *scene) acts() {
	s.Helper()
	select {
	case <-s.guardian.Ended():
	case <-time.After(long):
		s.Fatal("the guardian does nothing")
	}
	if !s.guardian.Acted() {
		s.Errorf("it ended with %d", s.guardian.code)
	}
	if group.Alive(s.group) {
		s.Error("the group outlived it")
	}
	if s.locked() {
		s.Error("the file is still locked")
	}
}

// locked says whether somebody else would be refused the lock. Ours is open all the time, as a stopped wrapper's is.
func (s *scene) locked() bool {
	other, err := os.Open(s.file.Name())
	if err != nil {
		s.Fatal(err)
	}
	defer other.Close()
	return unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

func (s *scene) signalled(by unix.Signal) {
	s.Helper()
	_ = s.command.Wait() // it was killed
	if status := s.command.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != by {
		s.Errorf("the command ended by %v", status.Signal())
	}
}

func TestDismissedItLeavesEverythingAlone(t *testing.T) {
	s := newScene(t, time.Second, "echo; exec sleep 60")
	if err := s.guardian.Deadline(Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	s.guardian.Dismiss()
	if s.guardian.Acted() || !group.Alive(s.group) || !s.locked() {
		t.Error("it did something")
	}
}

func TestTheWrapperDies(t *testing.T) {
	s := newScene(t, time.Minute, "echo; exec sleep 60")
	_ = s.guardian.conn.Close()
	s.acts()
	s.signalled(unix.SIGTERM)
}

func TestTheWrapperDiesAndTheGroupIsDeaf(t *testing.T) {
	s := newScene(t, 50*time.Millisecond, "trap '' TERM; echo; sleep 60; sleep 60")
	_ = s.guardian.conn.Close()
	s.acts()
	s.signalled(unix.SIGKILL)
}

// The deadline comes before the end of the grace.
func TestTheWrapperDiesShortlyBeforeTheDeadline(t *testing.T) {
	s := newScene(t, time.Hour, "trap '' TERM; echo; sleep 60; sleep 60")
	if err := s.guardian.Deadline(Now().Add(300 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	_ = s.guardian.conn.Close()
	s.acts()
	s.signalled(unix.SIGKILL)
}

// Until the grace is over, the command may do what it does on TERM.
func TestTheWrapperDiesAndTheGroupTakesItsTime(t *testing.T) {
	dir := t.TempDir()
	s := newScene(t, time.Minute, "cd "+dir+"; trap 'sleep 0.1; echo >clean; exit' TERM; echo; while :; do sleep 0.01; done")
	_ = s.guardian.conn.Close()
	s.acts()
	if _, err := os.Stat(filepath.Join(dir, "clean")); err != nil {
		t.Errorf("it was killed before it had ended by itself: %v", err)
	}
}

// What ends whole jobs and services does not end the guardian: afterwards it still does its work, which takes a while.
func TestGuardianBearsSignals(t *testing.T) {
	s := newScene(t, time.Minute, "trap 'sleep 0.1; exit' TERM; echo; while :; do sleep 0.01; done")
	for _, sig := range []unix.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE, unix.SIGTSTP,
	} {
		if err := unix.Kill(s.guardian.PID(), sig); err != nil {
			t.Fatal(err)
		}
		s.told(s.guardian.Watch(s.group))
	}
	_ = s.guardian.conn.Close()
	s.acts()
}

// A stopped group gets TERM, too.
func TestTheWrapperDiesWithAStoppedCommand(t *testing.T) {
	s := newScene(t, time.Minute, "echo; exec sleep 60")
	if err := group.Signal(s.group, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(s.group, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it was not stopped: status %#x, %v", status, err)
	}
	_ = s.guardian.conn.Close()
	s.acts()
	s.signalled(unix.SIGTERM)
}

func TestNoLaterDeadlineComes(t *testing.T) {
	s := newScene(t, time.Minute, "trap '' TERM; echo; exec sleep 60")
	began := Now()
	for _, after := range []time.Duration{20, 40, 300} { // each one in place of the one before
		if err := s.guardian.Deadline(began.Add(after * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	s.acts()
	s.signalled(unix.SIGKILL)
	if took := Now().Sub(began); took < 300*time.Millisecond {
		t.Errorf("it acted after %v", took)
	}
}

// It may have been stopped itself: news that came meanwhile are read before the deadline is judged.
func TestNewsBeforeTheDeadline(t *testing.T) {
	s := newScene(t, time.Minute, "echo; exec sleep 60")
	if err := s.guardian.Deadline(Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(s.guardian.PID(), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	late := time.NewTimer(1100 * time.Millisecond) // the deadline has to pass
	if err := s.guardian.Deadline(Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	<-late.C
	if err := unix.Kill(s.guardian.PID(), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.told(s.guardian.Watch(s.group))
	if !group.Alive(s.group) {
		t.Error("it acted on an old deadline")
	}
}

// A socket is shut down, so that the store sees its end although a stopped wrapper has it open.
func TestSocketsAreShutDown(t *testing.T) {
	s := newScene(t, time.Minute, "echo; exec sleep 60")
	ours, theirs, err := self.SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ours)
	defer unix.Close(theirs)
	fds := make([]int, 2)
	for i, fd := range []int{int(s.file.Fd()), theirs} {
		if fds[i], err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			t.Fatal(err)
		}
	}
	s.told(s.guardian.Hold(fds))
	_ = s.guardian.conn.Close()
	s.acts()
	bound := unix.NsecToTimeval(long.Nanoseconds())
	if err := unix.SetsockoptTimeval(ours, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &bound); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Read(ours, make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("the peer reads %d, %v, and not the end", n, err)
	}
}

func TestHoldOfNothingLetsGo(t *testing.T) {
	s := newScene(t, time.Minute, "echo; exec sleep 60")
	_ = s.file.Close()
	if !s.locked() {
		t.Fatal("it does not hold the file")
	}
	s.told(s.guardian.Hold(nil))
	if s.locked() {
		t.Error("it still holds the file")
	}
}

func TestTooManyDescriptors(t *testing.T) {
	g := &Guardian{}
	fds := make([]int, maxDescriptors+1)
	for i := range fds {
		fds[i] = -1
	}
	if err := g.Hold(fds); err == nil {
		t.Error("no error")
	}
}

func TestMessages(t *testing.T) {
	for _, m := range []message{{deadline, 1<<62 + 5}, {grace, 0}, {watch, -7}} {
		if b := m.encode(); len(b) != messageSize || decode(b) != m {
			t.Errorf("%v became %v", m, decode(b))
		}
	}
}
