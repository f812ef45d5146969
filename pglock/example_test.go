package pglock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
)

// Work under a lease, and what somebody else is told meanwhile.
func Example() {
	ctx := context.Background()
	store, err := pglock.Open(ctx, pglock.SharedServer.URL(""), pglock.Options{}) // "postgres://app@db.example/app"
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close(ctx)
	locker, err := tenure.New(store, tenure.Options{Require: tenure.FencingSurvivesFailover})
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close(ctx)

	err = locker.Do(ctx, "report/daily", func(ctx context.Context, lease *tenure.Lease) error {
		fmt.Println("writing under", lease.Name(), "- a fence for the resource:", !lease.Fence().IsZero())
		again := locker.TryDo(ctx, "report/daily", func(context.Context, *tenure.Lease) error { return nil })
		fmt.Println("somebody else:", errors.Is(again, tenure.ErrHeld))
		return nil
	})
	fmt.Println("ended with", err)
	// Output:
	// writing under report/daily - a fence for the resource: true
	// somebody else: true
	// ended with <nil>
}

// From the configuration of the application's pool, with a password that rotates. The store's connections are its own.
func ExampleNew() {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(pglock.SharedServer.URL(""))
	if err != nil {
		log.Fatal(err)
	}
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.Password = "of this hour" // from wherever it rotates
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	store, err := pglock.New(ctx, config.ConnConfig, pglock.Options{BeforeConnect: config.BeforeConnect, TTL: 20 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close(ctx)
	fmt.Println(store.Info().Kind, store.Info().TTL)
	// Output: postgres 20s
}

// Leases in a table, for a pooler that shares sessions, or to bear a restart of the server.
func ExampleOpen_rows() {
	ctx := context.Background()
	store, err := pglock.Open(ctx, pglock.SharedServer.URL("")+"&tenure_mode=rows", pglock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close(ctx)
	locker, err := tenure.New(store, tenure.Options{Require: tenure.LockSurvivesCrash})
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close(ctx)

	fmt.Println(locker.Do(ctx, "report/daily", func(ctx context.Context, lease *tenure.Lease) error {
		fmt.Println("under", lease.Name())
		return nil
	}))
	// Output:
	// under report/daily
	// <nil>
}

// Share a lock with code that calls pg_advisory_lock itself, in any language.
func ExampleRawKey() {
	ctx := context.Background()
	store, err := pglock.Open(ctx, pglock.SharedServer.URL(""), pglock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close(ctx)
	locker, err := tenure.New(store, tenure.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close(ctx)

	config, err := pgx.ParseConfig(pglock.SharedServer.URL(""))
	if err != nil {
		log.Fatal(err)
	}
	config.RuntimeParams["application_name"] = "billing"
	billing, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer billing.Close(ctx)
	if _, err := billing.Exec(ctx, "select pg_advisory_lock(5001)"); err != nil {
		log.Fatal(err)
	}
	_, err = locker.TryAcquire(ctx, pglock.RawKey(5001))
	fmt.Println(err)
	// Output: tenure: acquire: "pgkey:5001" is held by billing (another program's lock)
}

// Who has which lock, for how long, and who waits: other programs' locks too.
func ExampleStore_Locks() {
	ctx := context.Background()
	store, err := pglock.Open(ctx, pglock.SharedServer.URL(""), pglock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close(ctx)

	billing, err := pgx.Connect(ctx, pglock.SharedServer.URL("")+"&application_name=billing")
	if err != nil {
		log.Fatal(err)
	}
	defer billing.Close(ctx)
	if _, err := billing.Exec(ctx, "select pg_advisory_lock(5001, 7)"); err != nil {
		log.Fatal(err)
	}

	locks, err := store.Locks(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, lock := range locks {
		if lock.Name() != pglock.Key(5001, 7) {
			continue
		}
		for _, holder := range lock.Holders {
			fmt.Printf("%s is held by %s\n", lock.Name(), holder)
			fmt.Printf("%s after %q; is that longer than an hour ago? %v\n", holder.State, holder.Query, holder.StateAge > time.Hour)
		}
	}
	// Output:
	// pgkey:5001,7 is held by billing (another program's lock)
	// idle after "select pg_advisory_lock(5001, 7)"; is that longer than an hour ago? false
}

// Migrations under a lock, with CREATE INDEX CONCURRENTLY. That waits for every statement that runs, a blocked
// pg_advisory_lock included; so whoever waits for this lock does so by trying.
func ExampleOptions_waits() {
	ctx := context.Background()
	migrate := func(instance string) error {
		store, err := pglock.Open(ctx, pglock.SharedServer.URL(""), pglock.Options{Waits: -1})
		if err != nil {
			return err
		}
		defer store.Close(ctx)
		locker, err := tenure.New(store, tenure.Options{})
		if err != nil {
			return err
		}
		defer locker.Close(ctx)
		return locker.Do(ctx, "migrations", func(ctx context.Context, _ *tenure.Lease) error {
			conn, err := pgx.Connect(ctx, pglock.SharedServer.URL(""))
			if err != nil {
				return err
			}
			defer conn.Close(context.WithoutCancel(ctx))
			for _, statement := range []string{
				"create table if not exists customer (id bigint, name text)",
				"create index concurrently if not exists customer_name on customer (name)",
			} {
				if _, err := conn.Exec(ctx, statement); err != nil {
					return fmt.Errorf("instance %s: %w", instance, err)
				}
			}
			return nil
		})
	}
	first, second := make(chan error), make(chan error)
	go func() { first <- migrate("web-1") }()
	go func() { second <- migrate("web-2") }()
	fmt.Println(<-first, <-second)
	// Output: <nil> <nil>
}

// A shutdown in order: cancel the work, join it, release, then close the locker and the store.
func Example_shutdown() {
	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext(…, os.Interrupt, syscall.SIGTERM)
	serve := func() (err error) {
		store, err := pglock.Open(ctx, pglock.SharedServer.URL(""), pglock.Options{})
		if err != nil {
			return err
		}
		closing := context.WithoutCancel(ctx) // ctx is over by then
		defer func() { err = errors.Join(err, store.Close(closing)) }()
		locker, err := tenure.New(store, tenure.Options{})
		if err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(closing, 10*time.Second)
			defer cancel()
			err = errors.Join(err, locker.Close(ctx)) // waits for whoever holds a lease, and cancels them after ten seconds
		}()
		return locker.Do(ctx, "queue/consumer", func(ctx context.Context, _ *tenure.Lease) error {
			fmt.Println("working")
			stop() // a SIGTERM
			<-ctx.Done()
			fmt.Println("the work has ended; now its lease is released")
			return nil
		})
	}
	fmt.Println(serve())
	// Output:
	// working
	// the work has ended; now its lease is released
	// <nil>
}
