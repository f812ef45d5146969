package pglock_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock"
)

// poolModes are those of PgBouncer.
var poolModes = []string{"session", "transaction", "statement"}

// behindPooler gives the URL of a new database, and that through a new pooler.
func behindPooler(t *testing.T, mode string, settings map[string]string) (direct, pooled string, pooler *servers.PgBouncer) {
	t.Helper()
	direct = pglock.SharedServer.Database(t)
	pooler = servers.StartPgBouncer(t, pglock.SharedServer, servers.PgBouncerOptions{PoolMode: mode, Settings: settings})
	return direct, pooler.URL(direct), pooler
}

// patient bounds what must come, on a machine that has much else to do.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestH25PoolersAreRefused in every mode, with what to do, and nothing is left behind.
func TestH25PoolersAreRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range poolModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			direct, pooled, _ := behindPooler(t, mode, nil)
			refusedAsPooler(t, pooled, pglock.Options{}, "was said to be process")
			noLocks(t, direct)
		})
	}
}

// refusedAsPooler wants the refusal, with the ways out.
func refusedAsPooler(t *testing.T, url string, opts pglock.Options, why string) {
	t.Helper()
	store, err := pglock.Open(patient(t), url, opts)
	if err == nil {
		t.Errorf("%s was opened", url)
		must(t, store.Close(t.Context()))
		return
	}
	var fault *driver.Fault
	if !errors.Is(err, pglock.ErrPooler) || !errors.As(err, &fault) || fault.Kind != driver.Lasting {
		t.Errorf("%v: want a lasting fault that is ErrPooler", err)
	}
	for _, says := range []string{why, "the server's own address", "tenure_mode=rows", "tenure_pooler=session"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v: want %q", err, says)
		}
	}
}

// noLocks wants no advisory lock in a database.
func noLocks(t *testing.T, database string) {
	t.Helper()
	const count = "select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"
	eventually(t, "no advisory lock is left", func() bool { return pglock.SharedServer.SQL(t, database, count) == "0" })
}

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// TestH25BehaviourIsTested: somebody who says that the pooler keeps sessions, and is wrong, is refused by what the pooler does.
// With one server session all clients are granted one lock; with many, they meet other sessions from one call to the next.
func TestH25BehaviourIsTested(t *testing.T) {
	t.Parallel()
	for _, mode := range poolModes[1:] {
		for _, size := range []string{"1", "2", "20"} {
			t.Run(mode+" "+size, func(t *testing.T) {
				t.Parallel()
				direct, pooled, _ := behindPooler(t, mode, map[string]string{"default_pool_size": size})
				refusedAsPooler(t, pooled, pglock.Options{SessionPooler: true}, "process")
				refusedAsPooler(t, pooled+"&tenure_pooler=session", pglock.Options{}, "process")
				noLocks(t, direct)
			})
		}
	}
}

// TestH25BehaviourBesideOthers: other clients keep the pooler's sessions busy, so that the two connections of the test may meet
// different ones.
func TestH25BehaviourBesideOthers(t *testing.T) {
	t.Parallel()
	for _, mode := range poolModes[1:] {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			_, pooled, _ := behindPooler(t, mode, map[string]string{"default_pool_size": "8"})
			busy, stop := context.WithCancel(t.Context())
			var others sync.WaitGroup
			defer func() { stop(); others.Wait() }()
			for range 6 {
				others.Go(func() { keepBusy(busy, pooled) })
			}
			var opening sync.WaitGroup
			for range 12 {
				opening.Go(func() { refusedAsPooler(t, pooled, pglock.Options{SessionPooler: true}, "process") })
			}
			opening.Wait()
		})
	}
}

// keepBusy asks short questions until ctx ends.
func keepBusy(ctx context.Context, url string) {
	conn, err := pgx.Connect(ctx, url+"&default_query_exec_mode=simple_protocol")
	if err != nil {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		_, _ = conn.Exec(ctx, "select pg_sleep(0.002)")
	}
}

// TestH25SessionPooler: through a pooler of whole sessions, named by an option or in the URL, locks exclude, waits are granted,
// and what ends the session ends the lease.
func TestH25SessionPooler(t *testing.T) {
	t.Parallel()
	direct, pooled, pooler := behindPooler(t, "session", nil)
	first := lockerAt(t, pooled, pglock.Options{SessionPooler: true})
	second := lockerAt(t, pooled+"&tenure_pooler=session", pglock.Options{})
	beside := lockerAt(t, direct, pglock.Options{})
	excludes(t, first, second)
	excludes(t, second, beside)
	excludes(t, beside, first)

	// The server ends the session.
	lease := leaseOf(t, first, "nightly")
	pglock.SharedServer.SQL(t, direct, "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database()) and pid <> pg_backend_pid()")
	isLost(t, lease)
	must(t, leaseOf(t, beside, "nightly").Release(t.Context()))
	must(t, leaseOf(t, first, "nightly").Release(t.Context()))

	// The pooler ends.
	lease = leaseOf(t, second, "nightly")
	must(t, pooler.Stop())
	isLost(t, lease)
	must(t, leaseOf(t, beside, "nightly").Release(t.Context()))
	must(t, pooler.Start())
	must(t, leaseOf(t, second, "nightly").Release(t.Context()))
}

// TestH26SessionPoolerWithoutReset: a pooler that does not reset what its clients leave keeps the locks of one that has gone.
// The timeout that the session was given ends it.
func TestH26SessionPoolerWithoutReset(t *testing.T) {
	t.Parallel()
	direct, pooled, _ := behindPooler(t, "session", map[string]string{"server_reset_query": ""})
	store := storeAt(t, pooled, pglock.Options{SessionPooler: true, TTL: 2 * time.Second})
	_, err := store.Acquire(patient(t), &driver.Request{
		Ref: driver.Ref{Name: "nightly", Key: keyOf(t, store, "nightly"), Acq: 1}, Terms: driver.Terms{TTL: 2 * time.Second}, Watch: deaf{},
	})
	must(t, err)
	must(t, store.Close(t.Context()))
	must(t, leaseOf(t, lockerAt(t, direct, pglock.Options{}), "nightly").Release(t.Context()))
}

type deaf struct{}

func (deaf) Queued(*driver.Holder) {}
func (deaf) Asked(string)          {}
func (deaf) Lost(error)            {}

func keyOf(t *testing.T, store driver.Store, name string) string {
	t.Helper()
	key, err := store.Key(name)
	must(t, err)
	return key
}

// TestH25AtEveryReconnect: a session that was opened at the server itself looks again when its address has come to be a
// pooler's, for the line that holds and for one that waits.
func TestH25AtEveryReconnect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode     string
		override bool
	}{{"session", false}, {"transaction", false}, {"statement", false}, {"transaction", true}, {"statement", true}} {
		t.Run(fmt.Sprint(c.mode, c.override), func(t *testing.T) {
			t.Parallel()
			direct, pooled, _ := behindPooler(t, c.mode, map[string]string{"default_pool_size": "1"})
			var mu sync.Mutex
			through := direct
			config, err := pgx.ParseConfig(direct)
			must(t, err)
			store, err := pglock.New(patient(t), config, pglock.Options{
				SessionPooler: c.override,
				BeforeConnect: func(_ context.Context, config *pgx.ConnConfig) error {
					mu.Lock()
					defer mu.Unlock()
					now, err := pgx.ParseConfig(through)
					if err == nil {
						config.Host, config.Port = now.Host, now.Port
					}
					return err
				},
			})
			must(t, err)
			locker := lockerOver(t, store)
			must(t, leaseOf(t, locker, "nightly").Release(t.Context()))
			mu.Lock()
			through = pooled
			mu.Unlock()

			if !c.override { // a wait needs a connection of its own
				other := leaseOf(t, lockerAt(t, direct, pglock.Options{}), "busy")
				limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err = locker.Acquire(limited, "busy")
				isErr(t, err, pglock.ErrPooler)
				must(t, other.Release(t.Context()))
			}

			lease := leaseOf(t, locker, "nightly")
			pglock.SharedServer.SQL(t, direct, "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and "+
				"database = (select oid from pg_database where datname = current_database())")
			isLost(t, lease)
			_, err = locker.Acquire(patient(t), "nightly")
			isErr(t, err, pglock.ErrPooler)
			_, err = locker.TryAcquire(patient(t), "nightly")
			isErr(t, err, pglock.ErrPooler)
		})
	}
}

// TestH25NoKeyData: a server that gives no process id, as Amazon's RDS Proxy, counts as a pooler.
func TestH25NoKeyData(t *testing.T) {
	t.Parallel()
	direct := pglock.SharedServer.Database(t)
	address := withoutKeyData(t, pglock.SharedServer.Address())
	through := strings.Replace(direct, pglock.SharedServer.Address(), address, 1)
	refusedAsPooler(t, through, pglock.Options{}, "came without a process id")
	excludes(t, lockerAt(t, through, pglock.Options{SessionPooler: true}), lockerAt(t, direct, pglock.Options{}))
}

// withoutKeyData is a proxy that swallows the message BackendKeyData.
func withoutKeyData(t *testing.T, target string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); all.Wait() })
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			both := func() { _, _ = client.Close(), server.Close() }
			all.Go(func() { defer both(); _, _ = io.Copy(server, client) })
			all.Go(func() { defer both(); _ = copyWithout('K', client, server) })
		}
	})
	return listener.Addr().String()
}

// copyWithout copies the server's messages but for those of one type.
func copyWithout(kind byte, to io.Writer, from io.Reader) error {
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(from, head); err != nil {
			return err
		}
		message := append(head, make([]byte, binary.BigEndian.Uint32(head[1:])-4)...)
		if _, err := io.ReadFull(from, message[5:]); err != nil {
			return err
		}
		if message[0] == kind {
			continue
		}
		if _, err := to.Write(message); err != nil {
			return err
		}
	}
}

// TestRowsBehindPoolers of every mode, with prepared statements or without, exclude each other and those at the server itself.
func TestRowsBehindPoolers(t *testing.T) {
	t.Parallel()
	for _, mode := range poolModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			direct, pooled, _ := behindPooler(t, mode, map[string]string{"default_pool_size": strconv.Itoa(3)})
			rows := pglock.Options{Mode: pglock.Rows}
			beside := lockerAt(t, direct, rows)
			plain := lockerAt(t, pooled, rows)
			simple := lockerAt(t, pooled+"&tenure_mode=rows&default_query_exec_mode=simple_protocol", pglock.Options{})
			excludes(t, plain, beside)
			excludes(t, simple, plain)
			excludes(t, beside, simple)
		})
	}
}

// TestPoolersRefuseStartupParameters that they do not know. We send none; of those that stand in a URL the pooler's word is passed
// on.
func TestPoolersRefuseStartupParameters(t *testing.T) {
	t.Parallel()
	_, pooled, _ := behindPooler(t, "session", nil)
	for _, mode := range []string{"&tenure_pooler=session", "&tenure_mode=rows"} {
		url := pooled + mode
		must(t, leaseOf(t, lockerAt(t, url, pglock.Options{}), "nightly").Release(t.Context()))
		_, err := pglock.Open(patient(t), url+"&statement_timeout=10s", pglock.Options{})
		if err == nil || !strings.Contains(err.Error(), "unsupported startup parameter: statement_timeout") {
			t.Errorf("%s: %v", mode, err)
		}
	}
	_, pooled, _ = behindPooler(t, "session", map[string]string{"ignore_startup_parameters": "statement_timeout, search_path"})
	for _, mode := range []string{"&tenure_pooler=session", "&tenure_mode=rows"} {
		url := pooled + mode + "&statement_timeout=1ms&search_path=nowhere"
		must(t, leaseOf(t, lockerAt(t, url, pglock.Options{}), "nightly").Release(t.Context()))
	}
}

func storeAt(t *testing.T, url string, opts pglock.Options) *pglock.Store {
	t.Helper()
	store, err := pglock.Open(patient(t), url, opts)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close(context.WithoutCancel(t.Context()))) })
	return store
}

func lockerAt(t *testing.T, url string, opts pglock.Options) *tenure.Locker {
	t.Helper()
	return lockerOver(t, storeAt(t, url, opts))
}

func lockerOver(t *testing.T, store driver.Store) *tenure.Locker {
	t.Helper()
	locker, err := tenure.New(store, tenure.Options{})
	must(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		must(t, errors.Join(locker.Close(ctx), store.Close(ctx)))
	})
	return locker
}

func leaseOf(t *testing.T, locker *tenure.Locker, name string) *tenure.Lease {
	t.Helper()
	lease, err := locker.Acquire(patient(t), name)
	must(t, err)
	return lease
}

func isLost(t *testing.T, lease *tenure.Lease) {
	t.Helper()
	select {
	case <-lease.Done():
	case <-patient(t).Done():
		t.Fatal("the lease was not lost within a minute")
	}
	isErr(t, lease.Release(t.Context()), tenure.ErrLost)
}

// excludes has one locker refused while another holds, and granted when that has released; with tokens that rise.
func excludes(t *testing.T, holder, other *tenure.Locker) {
	t.Helper()
	lease := leaseOf(t, holder, "report")
	_, err := other.TryAcquire(patient(t), "report")
	isErr(t, err, tenure.ErrHeld)
	granted := make(chan *tenure.Lease, 1)
	go func() {
		next, err := other.Acquire(patient(t), "report")
		if err != nil {
			t.Error(err)
		}
		granted <- next
	}()
	select {
	case next := <-granted:
		t.Fatalf("both have it: %v and %v", lease.Token(), next)
	case <-time.After(50 * time.Millisecond): // it waits, or is on its way to
	}
	token := lease.Token()
	must(t, lease.Release(patient(t)))
	next := <-granted
	if next == nil {
		return
	}
	if next.Token() <= token {
		t.Errorf("token %v after %v", next.Token(), token)
	}
	must(t, next.Release(patient(t)))
}
