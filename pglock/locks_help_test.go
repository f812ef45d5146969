package pglock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
	"github.com/tenurelock/tenure/pglock/internal/key"
	"github.com/tenurelock/tenure/pglock/internal/schema"
)

// restrictedRole makes a role that may lock and no more, as an administrator does.
func restrictedRole(t *testing.T, database string) (role, login string) {
	t.Helper()
	role = "app_" + strings.ToLower(t.Name())
	admin := connect(t, database)
	must(t, schema.Migrate(t.Context(), admin))
	runSQL(t, admin, "create role "+role+" login")
	runSQL(t, admin, pglock.Grants(role))
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), database)
		must(t, err)
		defer conn.Close(context.Background())
		runSQL(t, conn, "drop owned by "+role+"; drop role "+role)
	})
	return role, strings.Replace(database, "postgres@", role+"@", 1)
}

// twinOf gives another name of a name's key.
func twinOf(name string) string {
	k, err := key.Of(name)
	if err != nil {
		panic(err)
	}
	return k.Name()
}

func openStore(t *testing.T, database string, opts pglock.Options) *pglock.Store {
	t.Helper()
	store, err := pglock.Open(t.Context(), database, opts)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close(context.Background())) })
	return store
}

func newLocker(t *testing.T, store *pglock.Store) *tenure.Locker {
	t.Helper()
	locker, err := tenure.New(store, tenure.Options{})
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // a test that failed may have left a lease
		defer cancel()
		if err := locker.Close(ctx); err != nil && !errors.Is(err, tenure.ErrClosed) {
			t.Error(err)
		}
	})
	return locker
}

// connectAs connects under an application's name.
func connectAs(t *testing.T, database, application string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	must(t, err)
	config.RuntimeParams["application_name"] = application
	return connectWith(t, config)
}

func runSQL(t *testing.T, conn *pgx.Conn, statements string) {
	t.Helper()
	_, err := conn.Exec(context.Background(), statements)
	must(t, err)
}

func allLocks(t *testing.T, store *pglock.Store) []pglock.Lock {
	t.Helper()
	all, err := store.Locks(t.Context())
	must(t, err)
	return all
}

// findLock gives the lock that a name stands for; one that nobody has is all zero.
func findLock(t *testing.T, store *pglock.Store, name string) pglock.Lock {
	t.Helper()
	k, err := store.Key(name)
	must(t, err)
	for _, l := range allLocks(t, store) {
		if l.Key == k {
			return l
		}
	}
	return pglock.Lock{}
}

// untilLock looks again and again, until somebody holds the lock and it is as wanted.
func untilLock(t *testing.T, store *pglock.Store, name string, wanted func(pglock.Lock) bool) pglock.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		l := findLock(t, store, name)
		if len(l.Holders) > 0 && wanted(l) {
			return l
		}
		if ctx.Err() != nil {
			t.Fatalf("the lock never became as wanted: %#v", l)
		}
	}
}
