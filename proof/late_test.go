//go:build unix

package proof

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

// lateProcess stops a process between its last look and its write, for longer than it may trust, and has it write when
// a successor has.
func lateProcess(t *testing.T, unguarded bool) History {
	p := newProcesses(Processes{Open: directory, Address: t.TempDir(), Dir: t.TempDir(), Unguarded: unguarded})
	plan := p.plan()
	plan.Late = true
	if err := p.start(plan); err != nil {
		t.Fatal(err)
	}
	first := p.children[0]
	defer func() { _ = first.cmd.Process.Kill() }() // does nothing if it has ended
	token, err := bufio.NewReader(first.stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the first holder said %q: %v, %v", token, err, first.wait())
	}
	p.t.failIf(first.signal(syscall.SIGSTOP))
	wait(t.Context(), p.TTL) // that is how long it has to be stopped
	p.t.failIf(first.signal(syscall.SIGCONT))

	s := newSession(p.t, 0)
	if err := s.open(context.Background()); err != nil {
		t.Fatal(err)
	}
	second := newClient(p.t, s, 1)
	op := second.call(plan.Names[0], driver.Exclusive)
	_, lockers := s.now()
	lease, err := lockers[0].Acquire(t.Context(), plan.Names[0]) // once the first has noticed, and given it back
	if err != nil {
		t.Fatal(err)
	}
	second.granted(op, lease)
	second.write(t.Context(), lease.Fence())
	_, err = io.WriteString(first.stdin, "write\n")
	p.t.failIf(err)
	p.t.failIf(first.wait())
	second.read(t.Context(), plan.Names[0])
	second.release(t.Context(), lease)
	p.t.failIf(s.close(context.Background()))
	history, err := p.history()
	p.t.failIf(err)
	for _, fault := range p.t.faults {
		t.Error(fault)
	}
	if !strings.Contains(history.String(), fmt.Sprintf(" write %s %s", word(plan.Names[0]), strings.TrimSpace(token))) {
		t.Errorf("the first holder did not write:\n%v", history)
	}
	return history
}

func TestLateWriteOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	history := lateProcess(t, false)
	if err := Check(history); err != nil {
		t.Errorf("guarded: %v\n%v", err, history)
	}
	tally := Tally{}
	tally.Add(history)
	if tally["write ok"] != 1 || tally["write stale"] != 1 {
		t.Errorf("guarded: %v", tally)
	}
	history = lateProcess(t, true)
	if err := Check(history); err == nil || !strings.Contains(err.Error(), "took a stale write") {
		t.Errorf("unguarded: the checks say %v of\n%v", err, history)
	}
}
