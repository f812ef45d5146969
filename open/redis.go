package open

import (
	"context"
	"errors"
	"strings"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/redislock"
)

func redis(ctx context.Context, address string, opts Options) (driver.Store, error) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return nil, wrong("the URL of a Redis begins with redis://, as in redis://host:6379/0")
	}
	store, err := redislock.Open(ctx, strings.ToLower(scheme)+"://"+rest, redislock.Options{TTL: opts.TTL})
	switch {
	case errors.Is(err, redislock.ErrURL):
		return nil, wrong("%w", unnamed{err, "redislock: "})
	case err != nil:
		return nil, err
	}
	return store, nil
}
