package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/pglock/internal/schema"
	"github.com/tenurelock/tenure/pglock/internal/wire"
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

// numbered notes the numbering as the line's session has read it.
func (l *line) numbered(n schema.Numbering) {
	l.high.Store(n.High)
	l.sequence.Store(n.Sequence)
}

// number makes sure that a line knows what grants are numbered from, and has an incarnation opened where there is no valid
// one.
func (t *tokens) number(ctx context.Context, l *line) error {
	for opened := false; l.sequence.Load() == 0; opened = true {
		n, err := l.look(ctx)
		switch {
		case err != nil:
			return err
		case n.Sequence != 0:
			l.numbered(n)
			return nil
		case opened:
			return passing(errors.New("the numbering of grants was opened, and is not valid: is a dump being restored?"))
		}
		if err := t.open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// changed says whether the numbering is another one than that of an ask which the server has refused: a dump was restored,
// perhaps. The line then knows the new one.
func (t *tokens) changed(ctx context.Context, l *line, a *ask) bool {
	n, err := l.look(ctx)
	if err != nil {
		return false
	}
	l.numbered(n)
	return t.number(ctx, l) == nil && l.sequence.Load() != a.sequence
}

// look reads the numbering as it is; it is zero where it is not valid.
func (l *line) look(ctx context.Context) (n schema.Numbering, err error) {
	_, err = l.query(ctx, "numbers", nil, func(values [][]byte) {
		if wire.ParseBool(values[0]) && len(values[1]) == 4 {
			n = schema.Numbering{Sequence: binary.BigEndian.Uint32(values[1]), High: wire.ParseInt(values[2])}
		}
	})
	return n, err
}

// open opens an incarnation, unless a valid one is there by now.
func (t *tokens) open(ctx context.Context) error {
	return t.wait(ctx, t.start(&t.opening, schema.Open), "opening the numbering of grants")
}

// raise raises the ceiling above a grant that was drawn above it.
func (t *tokens) raise(ctx context.Context, number int64) error {
	return t.wait(ctx, t.raiseFor(number), "raising the ceiling of grants")
}

// used has the ceiling raised ahead of need, unless others have done so.
func (t *tokens) used(l *line, number, high int64) {
	if !(schema.Answer{Number: number, High: high}).Early() || !l.raising.CompareAndSwap(false, true) {
		return
	}
	t.mu.Lock()
	lately := time.Since(t.failed) < time.Second
	t.mu.Unlock()
	if lately || !t.s.spawn(func() { t.raiseAhead(l); l.raising.Store(false) }) {
		l.raising.Store(false)
	}
}

func (t *tokens) raiseAhead(l *line) {
	ctx := t.s.context
	number, high, err := l.draw(ctx)
	if err != nil || !(schema.Answer{Number: number, High: high}).Early() {
		return
	}
	if t.raise(ctx, number) == nil {
		_, _, _ = l.draw(ctx)
	}
}

// draw draws a number, and reads the ceiling, which the line then knows.
func (l *line) draw(ctx context.Context) (number, high int64, err error) {
	a := newAsk(toDraw)
	if err := l.do(ctx, a); err != nil {
		return 0, 0, unknown(0, err)
	}
	number, high, err = a.number, a.high, a.err
	a.free()
	if err != nil {
		return 0, 0, unknown(0, err)
	}
	return number, high, nil
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
	if !t.s.spawn(func() {
		c.err = t.carryOut(do)
		t.mu.Lock()
		if c.err != nil {
			t.failed = time.Now()
		}
		*slot = nil
		t.mu.Unlock()
		close(c.done)
	}) {
		*slot, c.err = nil, t.s.closedFault()
		close(c.done)
	}
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
