package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/open"
	"github.com/tenurelock/tenure/pglock"
)

const initLong = `Get a store ready: create in a PostgreSQL database the schema "tenure", or bring it up to date. Run it as the role that
is to own the schema. It may be run again at any time, and beside locks that are held.

Where the locking role may create the schema, tenure does so by itself at its first lock, and init is not needed; nor is
it for any other kind of store.

With --print, nothing is changed: it prints the SQL for an administrator to run, with psql.

With --above, every later token is above TOKEN. Use it when locks move here from another store and a guard has seen that
store's tokens: it would refuse lower ones as stale.`

const initExample = `  tenure init --store postgres://admin@db.example/app --role app_user
  tenure init --store postgres://db.example/app --role app_user --print | psql -v ON_ERROR_STOP=1 app
  tenure init --store postgres://admin@db.example/app --above 459521390592123904`

// initialisation is the flags of init.
type initialisation struct {
	store address
	above string
	roles []string
	print bool
}

func newInit() *cobra.Command {
	var i initialisation
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Get a store ready",
		Long:    initLong,
		Example: initExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("above") && i.above == "" { // a script's variable that is not set
				return usage("--above: it is empty")
			}
			return i.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	i.store.add(cmd)
	flags.StringVar(&i.above, "above", "", "make every later token higher than this one, of the store before")
	flags.StringArrayVar(&i.roles, "role", nil, "also grant this role what it needs to lock; may be given more than once")
	flags.BoolVar(&i.print, "print", false, "print the SQL instead of running it")
	return cmd
}

func (i *initialisation) run(ctx context.Context, out io.Writer) error {
	var above tenure.Token
	if i.above != "" {
		var err error
		if above, err = tenure.ParseToken(i.above); err != nil {
			return usage("--above: %s", strings.TrimPrefix(err.Error(), tenure.ErrInvalid.Error()+": "))
		}
		if above < 256 {
			return usage("--above %v: no store has tokens so low", above)
		}
	}
	for _, role := range i.roles {
		if role == "" {
			return usage("--role: it is empty")
		}
	}
	named := i.store.named()
	if named == "" {
		return usage("no store is named, and the default, a directory, needs no init: give --store postgres://user@host/database, or set TENURE_STORE")
	}
	kind, err := open.Kind(named)
	if err != nil {
		return usage("%w", err)
	}
	if kind != open.Postgres {
		return i.others(out, kind, above)
	}
	return i.postgres(ctx, out, named, above)
}

func (i *initialisation) postgres(ctx context.Context, out io.Writer, named string, above tenure.Token) error {
	config, settings, err := open.PostgresURL(named)
	switch {
	case errors.Is(err, open.ErrURL):
		return usage("%w", err)
	case err != nil:
		return &failure{statusUnavailable, err}
	}
	opts := pglock.MigrateOptions{Above: above, Mode: settings.Mode, Roles: i.roles}
	if i.print {
		script, err := pglock.Script(opts)
		if err != nil {
			return usage("%w", err)
		}
		_, err = fmt.Fprint(out, script)
		return err
	}
	switch err := pglock.Migrate(ctx, config, opts); {
	case errors.Is(err, tenure.ErrInvalid):
		return err
	case err != nil:
		return &failure{statusUnavailable, err}
	}
	_, err = fmt.Fprintf(out, "schema tenure is ready in database %q\n", config.Database)
	for _, role := range i.roles {
		if err == nil {
			_, err = fmt.Fprintf(out, "role %q may lock\n", role)
		}
	}
	if err == nil && above != 0 {
		_, err = fmt.Fprintf(out, "every token from now on is above %v\n", above)
	}
	return err
}

// others is for the stores that make what they need when they are opened.
func (i *initialisation) others(out io.Writer, kind string, above tenure.Token) error {
	what := map[string]string{open.Directory: "a directory", open.Memory: "memory", open.Redis: "Redis"}[kind]
	clock := "this machine's"
	if kind == open.Redis {
		clock = "the server's"
	}
	switch {
	case i.print:
		return usage("--print: %s needs no SQL", what)
	case len(i.roles) > 0:
		return usage("--role: %s has no roles that init could give rights to", what)
	case above != 0:
		// Their grants are numbered above a clock in microseconds, of which this machine's is as good an image as any.
		if at := time.UnixMicro(int64(above) >> 8); !at.Before(time.Now()) {
			return usage("--above %v: tokens of %s go by %s clock, which reaches that one on %s; use another store until then",
				above, what, clock, at.Format(time.DateTime))
		}
		_, err := fmt.Fprintf(out, "%s needs no init, and its tokens, which go by the clock, are above %v already\n", what, above)
		return err
	}
	_, err := fmt.Fprintf(out, "%s needs no init\n", what)
	return err
}
