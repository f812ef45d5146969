package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// process is a started program. A goroutine on a thread of its own starts it and stays until it has ended: the signal that
// kills it when we die is bound to the thread that started it.
type process struct {
	started *os.Process
	ended   chan struct{}
	err     error // how it ended; to be read after ended is closed
}

// begin starts the command, which gets onDeath when this process dies.
func begin(command *exec.Cmd, onDeath syscall.Signal) (*process, error) {
	p := &process{ended: make(chan struct{})}
	dieWithUs(command, onDeath)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		p.started = command.Process
		started <- err
		if err == nil {
			p.err = command.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", command.Path, err)
	}
	return p, nil
}

func (p *process) pid() int { return p.started.Pid }

// signal does nothing to a process that has ended, even if its number is used again.
func (p *process) signal(signal os.Signal) error {
	if err := p.started.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %v to %d: %w", signal, p.pid(), err)
	}
	return nil
}

// wait returns nil once the process has ended, however it ended.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("process %d has not ended: %w", p.pid(), ctx.Err())
	}
}
