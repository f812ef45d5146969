//go:build unix

package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Processes is the torture of a store by several processes, which are stopped, continued and killed at random.
type Processes struct {
	Seed    uint64
	Open    Opener // the same that this program gives to ChildMain
	Address string // of the store
	Dir     string // an empty folder for the histories and the registers

	Children  int           // at once; default 3
	Clients   int           // of each; default 3
	TTL       time.Duration // default 300 ms
	For       time.Duration // default 4 s
	Unguarded bool
	Faults    Faults
}

// processes is one run.
type processes struct {
	Processes
	t        *torture // the parent's own: its clock, its history, its fresh session
	base     Instant
	log      *Client
	started  int
	children []*child
}

// child is a process that we started, and its end of the pipes.
type child struct {
	number  int
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  io.Reader
	stderr  bytes.Buffer
	stopped bool
}

// Torture runs it, and gives the merged history. The error begins with the seed, and has all that the children said.
func (p Processes) Torture(ctx context.Context) (History, error) {
	run := newProcesses(p)
	run.torture(ctx)
	history, err := run.history()
	run.t.failIf(err)
	run.t.failIf(Check(history))
	if err := brief(errors.Join(run.t.faults...)); err != nil {
		return history, fmt.Errorf("TENURE_SEED=%d: %w", p.Seed, err)
	}
	return history, nil
}

func newProcesses(p Processes) *processes {
	p.Children, p.Clients = orElse(p.Children, 3), orElse(p.Clients, 3)
	if p.TTL == 0 {
		p.TTL = 300 * time.Millisecond
	}
	if p.For == 0 {
		p.For = 4 * time.Second
	}
	run := &processes{Processes: p, base: machineNow()}
	run.t = newTorture(Config{
		Seed:     p.Seed,
		Open:     run.session,
		TTL:      p.TTL,
		Resource: run.files(),
		Clock:    MachineClock(run.base),
	})
	run.log = run.t.recorder.Client("parent")
	return run
}

func (p *processes) torture(ctx context.Context) {
	rng := p.t.random(0)
	end := time.Now().Add(p.For)
	for len(p.children) < p.Children {
		p.t.failIf(p.start(p.plan()))
		if len(p.t.faults) > 0 {
			return
		}
	}
	for time.Now().Before(end) {
		wait(ctx, time.Duration(rng.Int64N(int64(p.TTL/8))))
		p.trouble(rng)
	}
	for _, c := range p.children {
		p.t.failIf(c.signal(syscall.SIGCONT))
		_ = c.stdin.Close()
	}
	for _, c := range p.children {
		p.t.failIf(c.wait())
	}
	p.t.failIf(p.t.finish(ctx))
	p.t.failIf(p.t.leftOver(ctx))
}

// trouble does something to one child: continue it if it is stopped, else stop it or kill it.
func (p *processes) trouble(rng *rand.Rand) {
	at := rng.IntN(len(p.children))
	c := p.children[at]
	switch dice := rng.IntN(20); {
	case dice < 1:
		p.t.failIf(p.kill(c))
		p.children = append(p.children[:at], p.children[at+1:]...)
		p.t.failIf(p.start(p.plan()))
	case c.stopped && dice < 8:
		p.t.failIf(c.signal(syscall.SIGCONT))
		c.stopped = false
	case !c.stopped && dice < 7:
		p.t.failIf(c.signal(syscall.SIGSTOP))
		c.stopped = true
	}
}

func (p *processes) plan() childPlan {
	p.started++
	return childPlan{
		Address: p.Address, Number: p.started, Seed: p.Seed + uint64(p.started)<<32, TTL: p.TTL, Clients: p.Clients,
		Names: p.t.Names, Faults: p.Faults, Base: p.base, Files: p.files(),
		History: filepath.Join(p.Dir, fmt.Sprintf("history-%d.txt", p.started)),
	}
}

func (p *processes) session(ctx context.Context) (driver.Store, error) { return p.Open(ctx, p.Address) }

func (p *processes) files() FileRegisters { return FileRegisters{p.Dir, p.Unguarded} }

func (p *processes) start(plan childPlan) error {
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	c := &child{number: plan.Number, cmd: exec.Command(program)}
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	c.cmd.Stderr = &c.stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	if c.stdout, err = c.cmd.StdoutPipe(); err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("starting child %d: %w", plan.Number, err)
	}
	p.children = append(p.children, c)
	return nil
}

// kill kills a child, and notes before that it trusts in nothing any more: the kernel may free its locks at any moment
// from the signal on.
func (p *processes) kill(c *child) error {
	op := p.log.Call(Op{Verb: Kill, Name: fmt.Sprintf("%d/", c.number)})
	err := c.signal(syscall.SIGKILL)
	_ = c.cmd.Wait() // it was killed
	p.log.Return(op, func(op *Op) { op.Outcome = OK })
	return err
}

func (c *child) signal(signal syscall.Signal) error {
	if err := c.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("child %d cannot be sent %v: %w\n%s", c.number, signal, err, c.stderr.String())
	}
	return nil
}

// wait lets a child end that was asked to. It is killed if it does not.
func (c *child) wait() error {
	const patience = 30 * time.Second
	hangs := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	err := c.cmd.Wait()
	switch {
	case !hangs.Stop():
		return fmt.Errorf("child %d did not end in %v: %w\n%s", c.number, patience, err, c.stderr.String())
	case err != nil:
		return fmt.Errorf("child %d: %w\n%s", c.number, err, c.stderr.String())
	}
	return nil
}

// history merges what the parent saw with what the children have written, those that were killed too.
func (p *processes) history() (History, error) {
	merged, err := p.t.recorder.History()
	if err != nil {
		return nil, err
	}
	for number := range p.started {
		file, err := os.Open(filepath.Join(p.Dir, fmt.Sprintf("history-%d.txt", number+1)))
		if errors.Is(err, os.ErrNotExist) {
			continue // killed before it began
		}
		if err != nil {
			return nil, err
		}
		one, err := Parse(file)
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("the history of child %d: %w", number+1, err)
		}
		merged = Merge(merged, one)
	}
	return merged, nil
}
