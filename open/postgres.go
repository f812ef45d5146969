package open

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock"
)

func postgres(ctx context.Context, address string, opts Options) (driver.Store, error) {
	config, settings, err := PostgresURL(address)
	if err != nil {
		return nil, err
	}
	settings.TTL = opts.TTL
	store, err := pglock.New(ctx, config, settings)
	if err != nil {
		return nil, err
	}
	return store, nil
}

// PostgresURL reads a URL of the kind [Postgres] for package pglock, with the errors of [Store].
func PostgresURL(address string) (*pgx.ConnConfig, pglock.Options, error) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return nil, pglock.Options{}, wrong("the URL of a PostgreSQL database begins with postgres://, as in postgres://user@host:5432/database")
	}
	config, settings, err := pglock.ParseURL(strings.ToLower(scheme)+"://"+rest, pglock.Options{})
	if file := (*fs.PathError)(nil); err != nil && !errors.As(err, &file) {
		return nil, settings, wrong("%w", unnamed{err, "pglock: "})
	}
	return config, settings, err
}

// unnamed leaves out which package an error is from: it is beside the point for whoever wrote a URL.
type unnamed struct {
	error
	name string
}

func (u unnamed) Error() string { return strings.TrimPrefix(u.error.Error(), u.name) }
func (u unnamed) Unwrap() error { return u.error }
