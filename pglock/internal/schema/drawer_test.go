package schema

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// drawer is a client that acquires and releases as a driver does on one connection, and raises on another, since the first
// holds a lock by then.
type drawer struct {
	w     *world
	key   int64
	conn  *pgx.Conn
	other *pgx.Conn

	numbering Numbering
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
	return d.look(ctx)
}

// look gives back what a statement that failed may have locked, and reads the numbering.
func (d *drawer) look(ctx context.Context) error {
	if _, err := d.conn.Exec(ctx, "select pg_advisory_unlock_all()"); err != nil {
		return err
	}
	return retried(ctx, func() (err error) {
		d.numbering, err = numberSpan(ctx, d.conn, d.w.span)
		return err
	})
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
		err := d.lease(ctx)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Severity == "ERROR" { // the sequence may be another one
			err = d.look(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// lease tries the key, notes what it was granted, and releases it.
func (d *drawer) lease(ctx context.Context) error {
	sent := d.w.now()
	var number int64
	var at time.Time
	if err := d.conn.QueryRow(ctx, "acquire", d.key, d.numbering.Sequence).Scan(&number, &at); err != nil {
		return err
	}
	for drawn := false; ; drawn = true {
		answer := Answer{Number: number, High: d.numbering.High}
		switch verdict := answer.Verdict(); {
		case verdict == Busy:
			return nil
		case verdict == Granted, d.w.ignoreHigh:
			d.w.add(grant{answer.Number, sent, d.w.now()})
			var released bool
			err := d.conn.QueryRow(ctx, "select pg_advisory_unlock($1)", d.key).Scan(&released)
			if err == nil && !released {
				err = fmt.Errorf("%d was granted without its lock", answer.Number)
			}
			return err
		}
		if drawn {
			if err := d.raise(ctx, answer); err != nil {
				return err
			}
		}
		sent = d.w.now()
		if err := d.conn.QueryRow(ctx, "draw", d.numbering.Sequence).Scan(&number, &at, &d.numbering.High); err != nil {
			return err
		}
	}
}

func (d *drawer) raise(ctx context.Context, answer Answer) (err error) {
	if d.other == nil {
		if d.other, err = d.w.connect(ctx); err != nil {
			return err
		}
	}
	return retried(ctx, func() error { return Raise(ctx, d.other, answer.Number+d.w.span) })
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
