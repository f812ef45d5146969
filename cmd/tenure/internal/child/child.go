//go:build linux || darwin

package child

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure/cmd/tenure/internal/self"
)

// Event is a change of the command's state.
type Event struct {
	Stopped unix.Signal // by which signal it was stopped; zero: it was not
	Ended   bool        // it has ended; its process id stays taken until Reap
}

// Child is the stub, then the command. Its methods are for one goroutine; it has two of its own, which Reap joins.
type Child struct {
	group  int
	ahead  int // write end of the pipe for the go-ahead; -1: closed
	events chan Event
	begun  chan struct{}
	failed error // of the exec, once begun is closed
	own    sync.WaitGroup
	reaped *unix.WaitStatus // how the command ended, once it was reaped
}

// Start starts the stub, in a process group of its own.
func Start(command, env []string) (*Child, error) {
	waits, ahead, err := self.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the command: %w", err)
	}
	defer self.Close(waits)
	report, reports, err := self.Pipe()
	if err != nil {
		self.Close(ahead)
		return nil, fmt.Errorf("start the command: %w", err)
	}
	defer self.Close(reports)
	args := append([]string{strconv.Itoa(waits), strconv.Itoa(reports)}, command...)
	group, err := self.Start(self.Command, args, [3]int{0, 1, 2}, []int{waits, reports},
		syscall.ProcAttr{Env: env, Sys: &syscall.SysProcAttr{Setpgid: true}})
	if err != nil {
		self.Close(ahead, report)
		return nil, fmt.Errorf("start the command: %w", err)
	}
	c := &Child{group: group, ahead: ahead, events: make(chan Event), begun: make(chan struct{})}
	c.own.Go(c.watch)
	c.own.Go(func() { c.learn(report) })
	return c, nil
}

// Group is the process group, and the process id of its first member.
func (c *Child) Group() int { return c.group }

// GoAhead lets the stub become the command.
func (c *Child) GoAhead() error {
	defer c.hold()
	if _, err := unix.Write(c.ahead, []byte{1}); err != nil {
		return os.NewSyscallError("start the command: write", err)
	}
	return nil
}

// hold closes the pipe.
func (c *Child) hold() {
	if c.ahead >= 0 {
		self.Close(c.ahead)
		c.ahead = -1
	}
}

// Abort ends a stub that was not told to go ahead, and reaps it.
func (c *Child) Abort() {
	c.hold()
	for !(<-c.events).Ended {
	}
	c.Reap()
}

// Events gives every change, until and with the end. Somebody must receive them.
func (c *Child) Events() <-chan Event { return c.events }

// Begun is closed when the stub has become the command, or has failed to: then Failed says why.
func (c *Child) Begun() <-chan struct{} { return c.begun }

// Failed is why there is no command, once Begun is closed.
func (c *Child) Failed() error { return c.failed }

// learn reads how the exec went: the pipe closes with nothing in it when it went well.
func (c *Child) learn(report int) {
	defer close(c.begun)
	defer self.Close(report)
	buf := make([]byte, 4)
	for {
		n, err := unix.Read(report, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n == len(buf) {
			c.failed = unix.Errno(binary.LittleEndian.Uint32(buf))
		}
		return
	}
}

// Reap frees the process id of a command that has ended, and gives how it did. It may be called again.
func (c *Child) Reap() unix.WaitStatus {
	c.hold()
	c.own.Wait()
	for c.reaped == nil {
		var status unix.WaitStatus
		if _, err := unix.Wait4(c.group, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			c.reaped = &status
		}
	}
	return *c.reaped
}
