//go:build unix

package proof

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// Opener opens a session with the store at an address.
type Opener func(ctx context.Context, address string) (driver.Store, error)

// childEnv carries a childPlan to a child. It is unset in all other processes.
const childEnv = "TENURE_PROOF_CHILD"

// childPlan is what a child is to do.
type childPlan struct {
	Late    bool // play the late writer, instead of the torture
	Address string
	Number  int
	Seed    uint64
	TTL     time.Duration
	Clients int
	Names   []string
	Faults  Faults
	Base    Instant
	History string
	Files   FileRegisters
}

// ChildMain runs this process as the child of a [Processes], if it is one, and does not return then. Call it first in
// TestMain: children are the same program, started again.
func ChildMain(open Opener) {
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	var plan childPlan
	err := json.Unmarshal([]byte(text), &plan)
	if err == nil {
		err = plan.run(open)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "child %d: %v\n", plan.Number, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (p childPlan) run(open Opener) (err error) {
	file, err := os.OpenFile(p.History, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	t := newTorture(Config{
		Seed:     p.Seed,
		Open:     func(ctx context.Context) (driver.Store, error) { return open(ctx, p.Address) },
		Resource: p.Files,
		Clients:  p.Clients,
		TTL:      p.TTL,
		Names:    p.Names,
		Faults:   p.Faults,
		Clock:    MachineClock(p.Base),
	})
	t.recorder.StreamTo(file)
	s := newSession(t, p.Number)
	ctx := context.Background()
	// A process that is stopped while it opens a session may find it timed out, and then opens another.
	err = s.open(ctx)
	for tries := 1; err != nil && tries < 5; tries++ {
		err = s.open(ctx)
	}
	if err != nil {
		return err
	}
	if p.Late {
		t.failIf(p.late(ctx, t, s))
	} else {
		p.torture(ctx, t, s)
	}
	s.heal()
	t.failIf(s.close(ctx))
	_, streamed := t.recorder.History()
	return errors.Join(append(t.faults, streamed)...)
}

// torture runs the clients until the parent closes our standard input, or is gone itself.
func (p childPlan) torture(ctx context.Context, t *torture, s *session) {
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	var clients sync.WaitGroup
	for i := range p.Clients {
		c := newClient(t, s, i+1)
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					c.step(ctx)
				}
			}
		})
	}
	clients.Wait()
}

// late acquires, looks at its fence for the last time, and then writes only when the parent says so, as somebody does
// who was stopped between the two.
func (p childPlan) late(ctx context.Context, t *torture, s *session) error {
	c := newClient(t, s, 1)
	op := c.call(p.Names[0], driver.Exclusive)
	_, lockers := s.now()
	lease, err := lockers[0].Acquire(ctx, p.Names[0])
	if err != nil {
		return err
	}
	c.granted(op, lease)
	fence := lease.Fence()
	fmt.Println(fence.Token)
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	c.write(ctx, fence)
	if err := lease.Release(ctx); !errors.Is(err, tenure.ErrLost) {
		return fmt.Errorf("the lease should have been lost, and Release said: %w", err)
	}
	return nil
}
