package redislock

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/redislock/internal/session"
)

// Store is a session of this process with a Redis, for tenure.New. It is safe for concurrent use.
type Store struct{ driver.Store }

var _ driver.Store = (*Store)(nil)

// ErrEvicts is wrapped by the error for a server that may drop held locks to make room (maxmemory-policy).
var ErrEvicts = session.ErrEvicts

// Open opens a session with the server that a URL names, on two connections of its own.
//
//	redis://user:password@host:6379/0    one server
//	rediss://…                           the same over TLS
//	redis+sentinel://a:26379,b,c/master  the primary that Sentinels know under that name
//	redis+cluster://a:6379,b,c           a Cluster
//
// Two settings of Tenure's may stand in it, where opts leaves them at zero: ?tenure_grace=5s (0s: none) is Options.Grace, and
// ?tenure_prefix=app: is Options.Prefix. One that can never be right is ErrURL.
//
// Errors never repeat a URL, which may hold a password. See New for what holds after success and after failure.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	to, opts, err := parseURL(url, opts)
	if err != nil {
		return nil, err
	}
	opts, err = opts.complete()
	if err != nil {
		return nil, err
	}
	client, err := dial(ctx, to.option)
	if err != nil {
		return nil, fmt.Errorf("redislock: %s: %w", to.address, err)
	}
	s, err := session.New(ctx, client, session.Options{
		Prefix: opts.Prefix, TTL: opts.TTL, Grace: opts.grace(), Logger: opts.Logger, Address: to.address, Cluster: to.cluster, Own: true,
	})
	if err != nil {
		client.Close()
		return nil, fmt.Errorf("redislock: %w", err)
	}
	return &Store{s}, nil
}

// New opens a session over a client of the caller's, which goes on being the caller's: Close leaves it open. The session takes
// one more connection from it, for its subscription.
//
// Behind Sentinels the client should have a Sentinel.TopologyRefreshInterval, as Open's has: rueidis finds a new primary by a message
// that can be lost.
//
// After success the server is fit: 6.2 or newer, a primary, and none that evicts keys (ErrEvicts); the session's subscription is
// confirmed. After an error nothing is left at the server.
func New(ctx context.Context, client rueidis.Client, opts Options) (*Store, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	s, err := session.New(ctx, client, session.Options{
		Prefix: opts.Prefix, TTL: opts.TTL, Grace: opts.grace(), Logger: opts.Logger, Address: addressOf(client), Cluster: client.Mode() == rueidis.ClientModeCluster,
	})
	if err != nil {
		return nil, fmt.Errorf("redislock: %w", err)
	}
	return &Store{s}, nil
}

// addressOf names a client's server for people.
func addressOf(client rueidis.Client) string {
	for address := range client.Nodes() {
		return "redis " + address
	}
	return "redis"
}

// dial opens a client, by the end of ctx: the client library has no context for that.
func dial(ctx context.Context, option rueidis.ClientOption) (rueidis.Client, error) {
	type dialed struct {
		client rueidis.Client
		err    error
	}
	done := make(chan dialed, 1)
	go func() {
		client, err := rueidis.NewClient(option)
		done <- dialed{client, err}
	}()
	select {
	case d := <-done:
		return d.client, d.err
	case <-ctx.Done():
		go func() {
			if d := <-done; d.err == nil {
				d.client.Close()
			}
		}()
		return nil, fmt.Errorf("no answer yet: %w", context.Cause(ctx))
	}
}
