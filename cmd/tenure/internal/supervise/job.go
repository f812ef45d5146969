//go:build linux || darwin

package supervise

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure/cmd/tenure/internal/group"
	"github.com/tenurelock/tenure/cmd/tenure/internal/terminal"
)

// settle is how long it takes at most to be stopped by a signal to ourselves.
const settle = 200 * time.Millisecond

// job is the command as a job of its terminal, as the shell that started us would have it. The command's group is another
// one than ours, so what the terminal does to one of them has to be done to the other:
//
//   - The command gets the foreground at once if we have it and share our group with nobody. Otherwise (a pipeline, a
//     script, "go run") it begins in the background, and gets the foreground when it is stopped for want of it, while we
//     have it.
//   - When it is stopped by Ctrl-Z, we take the terminal back and stop our own group, so that the shell sees its job stop.
//     When the shell continues us, we continue the command.
//
// Without a terminal, nothing of this is done: whoever stops the command then will continue it.
type job struct {
	tty    *terminal.Terminal
	group  int
	stops  chan os.Signal // SIGTSTP and SIGCONT
	lent   bool           // the command's group has the foreground, through us
	wants  bool           // it is to have it whenever we do
	passed bool           // a SIGTSTP to us was passed on

	restore func()    // not nil: we have stopped our own group
	settled time.Time // if we run then, it could not be stopped
}

// newJob is called once the stub runs, which so begins with the signals as we found them.
func newJob(id int) *job {
	j := &job{tty: terminal.Open(), group: id, stops: make(chan os.Signal, 8)}
	signal.Notify(j.stops, unix.SIGTSTP, unix.SIGCONT)
	if j.wants = j.tty.Ours() && group.Alone(); j.wants {
		j.lend()
	}
	return j
}

func (j *job) lend() { j.lent = j.tty.Lend(j.group) == nil }

func (j *job) takeBack() {
	if j.lent {
		_ = j.tty.TakeBack() // it fails only when the terminal has gone
		j.lent = false
	}
}

// end gives the terminal back for good.
func (j *job) end() {
	if j.suspended() {
		j.restore()
	}
	j.takeBack()
	j.tty.Close()
	signal.Stop(j.stops)
}

// stopped follows a stop of the command.
func (j *job) stopped(by unix.Signal) {
	switch {
	case j.tty == nil:
	case by == unix.SIGTTIN || by == unix.SIGTTOU:
		j.wants = true
		switch {
		case j.tty.Foreground() == j.group: // it got the foreground in the meantime
			j.goOn()
		case j.tty.Ours():
			j.lend()
			j.goOn()
		default:
			j.suspend(by)
		}
	case j.passed, j.lent:
		j.suspend(unix.SIGTSTP)
	}
}

// suspend stops our own group, ourselves included.
func (j *job) suspend(by unix.Signal) {
	j.passed = false
	j.takeBack()
	j.restore = terminal.Suspend(by)
	j.settled = time.Now().Add(settle)
}

func (j *job) suspended() bool { return j.restore != nil }

// received follows a signal to us.
func (j *job) received(sig os.Signal) {
	if sig == unix.SIGTSTP {
		j.passed = true
		_ = group.Signal(j.group, unix.SIGTSTP)
		return
	}
	j.resume()
}

// resume continues the command: the shell has continued us, or our group could not be stopped, since no shell is there
// that would continue it.
func (j *job) resume() {
	if j.suspended() {
		j.restore()
		j.restore = nil
	}
	if j.wants && j.tty.Ours() {
		j.lend()
	}
	j.goOn()
}

func (j *job) goOn() { _ = group.Signal(j.group, unix.SIGCONT) }
