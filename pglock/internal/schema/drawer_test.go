package schema

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// drawer is a client that acquires and releases as a driver does on one connection, and raises on another, since the first
// holds a lock by then.
type drawer struct {
	w     *world
	key   int64
	conn  *pgx.Conn
	other *pgx.Conn
}

func (d *drawer) connect(ctx context.Context) (err error) {
	if d.conn, err = d.w.connect(ctx); err != nil {
		return err
	}
	for name, text := range map[string]string{"acquire": Acquire, "draw": Draw} {
		if _, err := d.conn.Prepare(ctx, name, text); err != nil {
			return err
		}
	}
	if d.w.skipBelongs {
		return nil
	}
	return retried(ctx, func() error { return Belongs(ctx, d.conn) })
}

func (d *drawer) close() {
	for _, conn := range []*pgx.Conn{d.conn, d.other} {
		if conn == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = conn.Close(ctx) // the server may be gone
		select {
		case <-conn.PgConn().CleanupDone():
		case <-ctx.Done(): // it never is where the socket was taken away
		}
		cancel()
	}
}

func (d *drawer) run(stop <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		if err := d.lease(ctx); err != nil {
			return err
		}
	}
}

// lease tries the key, notes what it was granted, and releases it.
func (d *drawer) lease(ctx context.Context) error {
	sent := d.w.now()
	answer, err := d.ask(ctx, "acquire", d.key)
	if err != nil {
		return err
	}
	for {
		switch verdict := answer.Verdict(); {
		case verdict == Busy:
			return nil
		case verdict == NoIncarnation:
			if err := retried(ctx, func() error { return openSpan(ctx, d.conn, d.w.span) }); err != nil {
				return err
			}
			return nil // nothing is locked: the next lease asks again
		case verdict == Granted, d.w.ignoreHigh:
			d.w.add(grant{answer.Number, sent, d.w.now()})
			var released bool
			err := d.conn.QueryRow(ctx, "select pg_advisory_unlock($1)", d.key).Scan(&released)
			if err == nil && !released {
				err = fmt.Errorf("%d was granted without its lock", answer.Number)
			}
			return err
		}
		if d.other == nil {
			if d.other, err = d.w.connect(ctx); err != nil {
				return err
			}
		}
		err := retried(ctx, func() error { return Raise(ctx, d.other, answer.Number+d.w.span) })
		if err != nil {
			return err
		}
		sent = d.w.now()
		if answer, err = d.ask(ctx, "draw"); err != nil {
			return err
		}
		if answer.Verdict() == NoIncarnation {
			return errors.New("the incarnation ended, and the session did not")
		}
	}
}

func (d *drawer) ask(ctx context.Context, statement string, arguments ...any) (a Answer, err error) {
	var number, high *int64
	var at time.Time
	err = d.conn.QueryRow(ctx, statement, arguments...).Scan(&number, &high, &at)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // the ceiling is empty
		return Answer{Number: -1}, nil
	case err != nil:
		return a, err
	}
	if high != nil {
		a.High = *high
	}
	a.Number = *number
	return a, nil
}

// retried calls again where another is at it.
func retried(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || !Occupied(err) || ctx.Err() != nil {
			return err
		}
	}
}
