//go:build linux || darwin

package supervise

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure/cmd/tenure/internal/group"
)

// Listen begins to receive the signals that are passed on. Those that were ignored when we were started, as nohup(1) does
// it, stay ignored, here and in the command. It goes on until the process ends: a second signal on the heels of one that ends
// us must not find the Go runtime's own handler, which prints every goroutine.
func Listen() <-chan os.Signal {
	signals := make(chan os.Signal, 64)
	for _, sig := range append([]os.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGABRT, unix.SIGALRM, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
	}, more()...) {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	// These two come from what we write ourselves: the write fails, and that is enough. To ignore them would have the
	// command ignore them too.
	own := make(chan os.Signal, 1)
	signal.Notify(own, unix.SIGPIPE, unix.SIGXFSZ)
	return signals
}

// pass sends a signal on to the group. The second SIGINT is KILL.
func (r *run) pass(sig os.Signal) {
	number := sig.(unix.Signal)
	switch number {
	case unix.SIGINT:
		if r.interrupts++; r.interrupts > 1 {
			r.Say("interrupted again: killing the command")
			r.signal(unix.SIGKILL)
			return
		}
		r.asked = time.Now()
	case unix.SIGHUP, unix.SIGQUIT, unix.SIGTERM:
		r.asked = time.Now()
	}
	r.Debug("passing on %v", number)
	r.signal(number)
}

func (r *run) signal(sig unix.Signal) {
	if err := group.Signal(r.child.Group(), sig); err != nil {
		r.Say("%v", err)
	}
}
