package pglock

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/connect"
	"github.com/tenurelock/tenure/pglock/internal/rows"
	"github.com/tenurelock/tenure/pglock/internal/schema"
)

// newRows opens a store of lease rows.
func newRows(ctx context.Context, dialer *connect.Dialer, opts Options) (driver.Store, error) {
	conn, err := dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	err = schema.Ensure(ctx, conn.Conn)
	_ = conn.Close(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	return rows.New(ctx, rows.Config{
		Dial: func(ctx context.Context) (*pgx.Conn, error) {
			conn, err := dialer.Dial(ctx)
			return conn.Conn, err
		},
		TTL:     opts.TTL,
		Address: dialer.Address(),
		Keep:    opts.Keep,
	})
}
