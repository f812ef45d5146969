package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/open"
)

// storeVariable names the store where the flag does not.
const storeVariable = "TENURE_STORE"

// address is the flag that names the store.
type address string

func (a *address) add(cmd *cobra.Command) {
	cmd.Flags().VarP(a, "store", "s",
		"where the locks are: postgres://user@host/database, redis://host:6379/0, file:///directory, or a path (default: $"+storeVariable+", or else the user's state directory)")
}

// Set takes the flag's value. An empty one comes from a script whose variable is not set: the default would be another
// store than the one that was meant, and exclude nobody.
func (a *address) Set(text string) error {
	if text == "" {
		return errors.New("it is empty; leave the flag out for the default")
	}
	*a = address(text)
	return nil
}

// named is the address that the flag or the environment gives, empty for the default.
func (a *address) named() string {
	if *a != "" {
		return string(*a)
	}
	return os.Getenv(storeVariable)
}

// String gives the value.
func (a *address) String() string { return string(*a) }

// Type is what the help calls it.
func (*address) Type() string { return "url" }

// open opens the store that the flag, or the environment, or nobody names.
func (a *address) open(ctx context.Context, ttl time.Duration) (driver.Store, error) {
	named := a.named()
	opts := open.Options{TTL: ttl}
	var store driver.Store
	var err error
	if named != "" {
		store, err = open.Store(ctx, named, opts)
	} else {
		store, err = open.Default(ctx, opts)
	}
	switch {
	case errors.Is(err, open.ErrURL):
		return nil, usage("open the store: %w", err)
	case err != nil:
		return nil, &failure{statusUnavailable, fmt.Errorf("open the store: %s", withoutPackage(err.Error()))}
	}
	return store, nil
}
