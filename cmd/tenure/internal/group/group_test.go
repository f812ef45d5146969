//go:build linux || darwin

package group

import (
	"bufio"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin starts a shell in a group of its own, which says a word once it has done what it should.
func begin(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Signal(cmd.Process.Pid, unix.SIGKILL) })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func TestADeadMemberIsNotAlive(t *testing.T) {
	cmd := begin(t, "echo; exec sleep 60")
	id := cmd.Process.Pid
	if !Alive(id) {
		t.Error("a living group is not alive")
	}
	if err := Signal(id, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a member that is dead, but not waited for, counts as alive", func() bool { return !Alive(id) })
	_ = cmd.Wait() // it was killed
	if Alive(id) {
		t.Error("a group that is gone is alive")
	}
	if err := Signal(id, unix.SIGTERM); err != nil {
		t.Errorf("a group that is gone: %v", err)
	}
}

func TestAGroupOutlivesItsFirst(t *testing.T) {
	cmd := begin(t, "sleep 60 >/dev/null & echo")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !Alive(cmd.Process.Pid) {
		t.Error("the second member was overlooked")
	}
}

// kill(2) takes 0 and -1 for other things than a group.
func TestOnlyGroups(t *testing.T) {
	for _, id := range []int{-1, 0, 1} {
		if Signal(id, 0) == nil {
			t.Errorf("group %d was signalled", id)
		}
		if Alive(id) {
			t.Errorf("group %d is alive", id)
		}
	}
}
