//go:build linux || darwin

package guardian

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure/cmd/tenure/internal/group"
	"github.com/tenurelock/tenure/cmd/tenure/internal/self"
)

// How the guardian's process ends.
const (
	dismissed = 0  // the wrapper said that the work is over
	acted     = 79 // it ended the group
	broken    = 70 // it cannot do its work
)

// Main is the guardian's process. It gives the exit status.
func Main() int {
	ignoreSignals()
	if len(os.Args) != 2 {
		return broken
	}
	socket, err := strconv.Atoi(os.Args[1])
	if err != nil || socket < 3 {
		return broken
	}
	closeInherited(socket)
	nameItself()
	alarm, err := newAlarm()
	if err != nil {
		return broken
	}
	if err := unix.SetNonblock(socket, true); err != nil { // only this end: the wrapper's is another file
		return broken
	}
	g := &guard{socket: socket, alarm: alarm}
	return g.run()
}

// ignoreSignals outlives what ends a whole job or service: the guardian is there for what happens then.
func ignoreSignals() {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
		unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
}

// closeInherited lets go of whatever the wrapper was started with, or a reader at the other end of a pipe would wait for
// the guardian too.
func closeInherited(beside int) {
	inherited, err := self.Inherited()
	if err != nil {
		return
	}
	for _, fd := range inherited {
		if fd != beside {
			_ = unix.Close(fd)
		}
	}
	unix.CloseOnExec(beside)
}

// nameItself shows the role in ps and top, instead of "exe". Where it cannot, nothing is lost.
func nameItself() { _ = os.WriteFile("/proc/self/comm", []byte(self.Guardian), 0) }

// guard is what the guardian knows.
type guard struct {
	socket int
	alarm  *alarm
	buf    []byte // of a message that has not come whole

	grace    time.Duration
	held     held
	group    int     // zero: none yet
	deadline Instant // zero: none yet
}

// verdict is why the guardian stops waiting.
type verdict int

const (
	goOn verdict = iota
	over         // the work is over
	dead         // the wrapper is
)

func (g *guard) run() int {
	for {
		if err := g.alarm.wait(g.socket, g.deadline); err != nil {
			g.end(true) // it cannot watch any more: as if the wrapper had died
			return broken
		}
		// Everything that has come is read before the deadline is judged: the guardian may have been stopped itself.
		switch g.read() {
		case over:
			g.held.drop()
			return dismissed
		case dead:
			g.end(true)
			return acted
		}
		if g.deadline != 0 && Now() >= g.deadline {
			g.end(false)
			return acted
		}
	}
}

// read takes all messages that are there.
func (g *guard) read() verdict {
	for {
		m, there, err := g.receive()
		switch {
		case err != nil:
			return dead
		case !there:
			return goOn
		}
		switch m.kind {
		case grace:
			g.grace = time.Duration(m.value)
		case deadline:
			g.deadline = Instant(m.value)
		case watch:
			g.group = int(m.value)
			err = g.acknowledge(m.kind)
		case hold:
			if m.value == 0 {
				g.held.drop()
				g.held = nil
			}
			err = g.acknowledge(m.kind)
		case done:
			return over
		}
		if err != nil {
			return dead
		}
	}
}

var errEOF = errors.New("the wrapper's end is closed")

// receive takes one message, if it is there.
func (g *guard) receive() (m message, there bool, err error) {
	oob := make([]byte, unix.CmsgSpace(4*maxDescriptors))
	for len(g.buf) < messageSize {
		part := make([]byte, messageSize-len(g.buf))
		n, oobn, flags, _, err := unix.Recvmsg(g.socket, part, oob, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return m, false, nil
		case err != nil:
			return m, false, os.NewSyscallError("recvmsg", err)
		case n == 0:
			return m, false, errEOF
		}
		more, err := rights(oob[:oobn], flags)
		if oobn > 0 {
			g.held.drop()
			g.held = more
		}
		if err != nil {
			return m, false, err
		}
		g.buf = append(g.buf, part[:n]...)
	}
	m = decode(g.buf)
	g.buf = g.buf[:0]
	if m.kind == hold && m.value != 0 && int(m.value) != len(g.held) {
		return m, false, fmt.Errorf("%d descriptors were sent and %d arrived", m.value, len(g.held))
	}
	return m, true, nil
}

func (g *guard) acknowledge(k kind) error {
	_, err := unix.Write(g.socket, message{acknowledged, int64(k)}.encode())
	return err
}

// end ends the group, and returns when no member lives. Gently: TERM first, and KILL after the grace or at the deadline.
func (g *guard) end(gently bool) {
	kill := Now()
	if gently {
		kill = kill.Add(g.grace)
		if g.deadline != 0 {
			kill = min(kill, g.deadline)
		}
		_ = group.Signal(g.group, unix.SIGTERM) // a group that may not be signalled is waited for all the same
		_ = group.Signal(g.group, unix.SIGCONT) // a stopped process does not see TERM
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		gone := !group.Alive(g.group)
		if gone || Now() >= kill {
			_ = group.Signal(g.group, unix.SIGKILL)
			// After KILL no member can fork, so that now a look at one process after the other misses none.
			if gone && !group.Alive(g.group) {
				break
			}
		}
		time.Sleep(min(pause, max(time.Millisecond, kill.Sub(Now()))))
	}
	g.held.end()
}
