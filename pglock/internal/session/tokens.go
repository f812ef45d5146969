package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/pglock/internal/schema"
)

// tokens sees to it that grants can be numbered: it opens incarnations, and raises the ceiling. Either is done once for all
// who want it, on a connection of its own that holds no lock, and never cancelled: with a synchronous standby missing it may
// hang for long (H80). Callers wait for it no longer than for an answer.
type tokens struct {
	s *Store

	mu      sync.Mutex
	failed  time.Time // when the last raise failed
	opening *change
	raising *change
}

// change is one opening or raise that is under way.
type change struct {
	done chan struct{}
	err  error
}

// longest bounds a change: what hangs for longer is left to the server.
const longest = 10 * time.Minute

// ready makes sure, on a connection that is being set up, that the numbering is this database's.
func (t *tokens) ready(ctx context.Context, conn *pgx.Conn) error {
	if err := schema.Belongs(ctx, conn); err != nil {
		return passing(fmt.Errorf("the numbering of grants: %w", err))
	}
	return nil
}

// open opens an incarnation, unless a valid one is there by now.
func (t *tokens) open(ctx context.Context) error {
	return t.wait(ctx, t.start(&t.opening, schema.Open), "opening the numbering of grants")
}

// raise raises the ceiling above a grant that was drawn above it.
func (t *tokens) raise(ctx context.Context, number int64) error {
	return t.wait(ctx, t.raiseFor(number), "raising the ceiling of grants")
}

// used has the ceiling raised ahead of need.
func (t *tokens) used(number, high int64) {
	if !(schema.Answer{Number: number, High: high}).Early() {
		return
	}
	t.mu.Lock()
	lately := time.Since(t.failed) < time.Second
	t.mu.Unlock()
	if !lately {
		t.raiseFor(number)
	}
}

func (t *tokens) raiseFor(number int64) *change {
	wanted := schema.Answer{Number: number}.Wanted()
	return t.start(&t.raising, func(ctx context.Context, conn *pgx.Conn) error { return schema.Raise(ctx, conn, wanted) })
}

func (t *tokens) start(slot **change, do func(context.Context, *pgx.Conn) error) *change {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *slot != nil {
		return *slot
	}
	c := &change{done: make(chan struct{})}
	*slot = c
	t.s.running.Add(1)
	go func() {
		defer t.s.running.Done()
		c.err = t.carryOut(do)
		t.mu.Lock()
		if c.err != nil {
			t.failed = time.Now()
		}
		*slot = nil
		t.mu.Unlock()
		close(c.done)
	}()
	return c
}

// carryOut makes the change on a connection of its own. That ends with the store: the server goes on by itself.
func (t *tokens) carryOut(do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(t.s.context, longest)
	defer cancel()
	conn, err := t.s.dialer.Dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := errors.Join(patient(ctx, conn), writable(ctx, conn)); err != nil {
		return err
	}
	return do(ctx, conn.Conn)
}

func (t *tokens) wait(ctx context.Context, c *change, what string) error {
	select {
	case <-c.done:
	case <-ctx.Done():
		return passing(fmt.Errorf("%s takes its time; is a synchronous standby missing? %w", what, context.Cause(ctx)))
	}
	if c.err != nil {
		return fault(0, fmt.Errorf("%s: %w", what, c.err))
	}
	return nil
}
