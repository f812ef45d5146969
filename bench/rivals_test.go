package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/redislock"
)

// rival is one way to have locks. Callers are numbered from 0.
type rival struct {
	name string
	// acquire takes the caller's name, and gives what gives it back.
	acquire func(ctx context.Context, caller int) (release func() error, err error)
}

// open opens a store, as a process would, and a Locker over it.
func open(t testing.TB, address string) *tenure.Locker {
	t.Helper()
	store, err := redislock.Open(t.Context(), "redis://"+address, redislock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	locker, err := tenure.New(store, tenure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return locker
}

// names are what the callers of one rival take: a name each, or all of them the same.
func names(rival string, callers int, same bool) []string {
	names := make([]string, callers)
	for i := range names {
		if !same {
			names[i] = fmt.Sprintf("%s/%d", rival, i)
		} else {
			names[i] = rival
		}
	}
	return names
}

// tenureTries is one process whose callers have a name each.
func tenureTries(t testing.TB, callers int) rival {
	locker, names := open(t, redisServer.Address()), names("tenure", callers, false)
	return rival{"tenure", func(ctx context.Context, caller int) (func() error, error) {
		return leased(ctx)(locker.TryAcquire(ctx, names[caller]))
	}}
}

// tenureWaits is a process a caller, who all want one name.
func tenureWaits(t testing.TB, address, name string, callers int) rival {
	lockers := make([]*tenure.Locker, callers)
	for i := range lockers {
		lockers[i] = open(t, address)
	}
	return rival{"tenure", func(ctx context.Context, caller int) (func() error, error) {
		return leased(ctx)(lockers[caller].Acquire(ctx, name))
	}}
}

func leased(ctx context.Context) func(*tenure.Lease, error) (func() error, error) {
	return func(lease *tenure.Lease, err error) (func() error, error) {
		if err != nil {
			return nil, err
		}
		if lease.Token() == 0 {
			return nil, fmt.Errorf("%s has no token", lease.Name())
		}
		return func() error { return lease.Release(ctx) }, nil
	}
}

func goRedis(t testing.TB) *redis.Client {
	client := redis.NewClient(&redis.Options{Network: "tcp", Addr: redisServer.Address()})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func bsmTries(t testing.TB, callers int) rival {
	locker, names := bsm.New(goRedis(t)), names("bsm", callers, false)
	return rival{"bsm", func(ctx context.Context, caller int) (func() error, error) {
		lock, err := locker.Obtain(ctx, names[caller], 30*time.Second, nil)
		if err != nil {
			return nil, err
		}
		return func() error { return lock.Release(ctx) }, nil
	}}
}

func redsyncTries(t testing.TB, callers int) rival {
	rs, names := redsync.New(goredis.NewPool(goRedis(t))), names("redsync", callers, false)
	return rival{"redsync", func(ctx context.Context, caller int) (func() error, error) {
		mutex := rs.NewMutex(names[caller])
		if err := mutex.LockContext(ctx); err != nil {
			return nil, err
		}
		return func() error {
			if ok, err := mutex.UnlockContext(ctx); !ok || err != nil {
				return fmt.Errorf("unlock failed: %w", err)
			}
			return nil
		}, nil
	}}
}

// rueidisLocker opens a locker of rueidislock: with its defaults, or as its README has it for one server.
func rueidisLocker(t testing.TB, one bool) rueidislock.Locker {
	t.Helper()
	option := rueidislock.LockerOption{ClientOption: rueidis.ClientOption{InitAddress: []string{redisServer.Address()}}}
	if one {
		option.KeyMajority, option.NoLoopTracking = 1, true
	}
	locker, err := rueidislock.NewLocker(option)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(locker.Close)
	return locker
}

func rueidisName(one bool) string {
	if one {
		return "rueidislock1"
	}
	return "rueidislock"
}

func rueidisTries(t testing.TB, callers int, one bool) rival {
	locker, names := rueidisLocker(t, one), names(rueidisName(one), callers, false)
	return rueidisRival(one, func(int) rueidislock.Locker { return locker }, names)
}

func rueidisWaits(t testing.TB, callers int, one bool) rival {
	lockers := make([]rueidislock.Locker, callers)
	for i := range lockers {
		lockers[i] = rueidisLocker(t, one)
	}
	return rueidisRival(one, func(caller int) rueidislock.Locker { return lockers[caller] }, names(rueidisName(one), callers, true))
}

func rueidisRival(one bool, of func(caller int) rueidislock.Locker, names []string) rival {
	return rival{rueidisName(one), func(ctx context.Context, caller int) (func() error, error) {
		_, cancel, err := of(caller).WithContext(ctx, names[caller])
		if err != nil {
			return nil, err
		}
		return func() error { cancel(); return nil }, nil
	}}
}

const (
	tryBare    = "select pg_try_advisory_lock($1)"
	waitBare   = "select pg_advisory_lock($1)"
	unlockBare = "select pg_advisory_unlock($1)"
)

func unlocks(conn *pgx.Conn, key int64) func() error {
	return func() error {
		var got bool
		if err := conn.QueryRow(context.Background(), unlockBare, key).Scan(&got); err != nil || !got {
			return fmt.Errorf("unlock: %v, %w", got, err)
		}
		return nil
	}
}

// postgresTries has callers with a name each share a pool of up to 50 connections.
func postgresTries(t testing.TB, callers int) rival {
	config, err := pgxpool.ParseConfig(postgresServer.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = int32(min(callers, 50))
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return rival{"postgres", func(ctx context.Context, caller int) (func() error, error) {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		var got bool
		if err := conn.QueryRow(ctx, tryBare, int64(caller)).Scan(&got); err != nil || !got {
			conn.Release()
			return nil, fmt.Errorf("try: %v, %w", got, err)
		}
		unlock := unlocks(conn.Conn(), int64(caller))
		return func() error { defer conn.Release(); return unlock() }, nil
	}}
}

// postgresWaits has a connection for each caller, and they all want one name.
func postgresWaits(t testing.TB, callers int) rival {
	url := postgresServer.Database(t)
	conns := make([]*pgx.Conn, callers)
	for i := range conns {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		conns[i] = conn
	}
	return rival{"postgres", func(ctx context.Context, caller int) (func() error, error) {
		if _, err := conns[caller].Exec(ctx, waitBare, int64(1)); err != nil {
			return nil, err
		}
		return unlocks(conns[caller], 1), nil
	}}
}
