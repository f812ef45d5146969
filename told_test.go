package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// slowLog takes a millisecond a line, as a terminal does.
type slowLog struct{ slog.Handler }

func (slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (slowLog) Handle(context.Context, slog.Record) error {
	time.Sleep(time.Millisecond)
	return nil
}

// TestH1LossesWaitForNoLogger: thousands of contexts end within the margin, however they are lost.
func TestH1LossesWaitForNoLogger(t *testing.T) {
	for how, lose := range map[string]func(driver.Store) (ends time.Time){
		"their deadline passes": func(driver.Store) time.Time { return time.Now().Add(trusted) },
		"the session ends": func(store driver.Store) time.Time {
			_ = store.Close(context.Background())
			return time.Now()
		},
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const many = 1_000
				store := &faulty{Store: memory(t)}
				store.renew = func(_ context.Context, batch []driver.Renewal, _ renewFunc) { out(batch, errOutOfReach) }
				l := locker(t, store, tenure.Options{Logger: slog.New(slowLog{quiet().Handler()})})
				var over, latest atomic.Int64
				begin := time.Now()
				for i := range many {
					context.AfterFunc(acquire(t, l, fmt.Sprint(i)).Context(context.Background()), func() {
						over.Add(1)
						latest.Store(int64(time.Since(begin)))
					})
				}
				ends := lose(store)
				time.Sleep(2 * ttl)
				if late := begin.Add(time.Duration(latest.Load())).Sub(ends); over.Load() != many || late > 50*time.Millisecond {
					t.Errorf("%d of %d contexts are over, the last %v late", over.Load(), many, late)
				}
			})
		})
	}
}

// TestSlowObserverCostsNoLease: renewals go on while it hears of the last ones.
func TestSlowObserverCostsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		l := locker(t, memory(t), tenure.Options{Observer: &tenure.Observer{Renew: func(*tenure.Lease, error) {
			time.Sleep(2 * ttl)
			told++
		}}})
		lease := acquire(t, l, "x")
		time.Sleep(5*ttl + time.Second)
		release(t, lease)
		time.Sleep(60 * ttl) // it hears of all of them
		synctest.Wait()
		if told < 14 || told > 16 {
			t.Errorf("told of %d renewals in 5 TTLs", told)
		}
	})
}

// TestObserverMayCloseTheLocker when it hears of a loss. The other losses come in time all the same.
func TestObserverMayCloseTheLocker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Store: memory(t)}
		store.renew = func(_ context.Context, batch []driver.Renewal, _ renewFunc) { out(batch, errOutOfReach) }
		var l *tenure.Locker
		closed := make(chan error, 2)
		l = locker(t, store, tenure.Options{Observer: &tenure.Observer{Lost: func(*tenure.Lease, error) {
			closed <- l.Close(context.Background())
		}}})
		acquire(t, l, "one")
		time.Sleep(time.Second)
		begin, two := time.Now(), acquire(t, l, "two")
		<-two.Done()
		if held := time.Since(begin); held > trusted {
			t.Errorf("the second was lost after %v, trusted were %v", held, trusted)
		}
		for range 2 {
			if err := <-closed; err != nil {
				t.Errorf("close: %v", err)
			}
		}
	})
}

// TestObserverMayAskTheDriver that has just told it of a loss, from the one goroutine that serves its connection.
func TestObserverMayAskTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connection := make(chan func())
		defer close(connection)
		go func() {
			for serve := range connection {
				serve()
			}
		}()
		inner := memory(t)
		store := &faulty{Store: inner}
		store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (grant driver.Grant, err error) {
			answered := make(chan struct{})
			connection <- func() { grant, err = next(ctx, req); close(answered) }
			<-answered
			return grant, err
		}
		told := make(chan error, 1)
		var l *tenure.Locker
		l = locker(t, store, tenure.Options{Observer: &tenure.Observer{Lost: func(*tenure.Lease, error) {
			lease, err := l.TryAcquire(context.Background(), "another")
			if err == nil {
				err = lease.Release(context.Background())
			}
			told <- err
		}}})
		acquire(t, l, "x")
		connection <- func() { inner.Lose("x") }
		select {
		case err := <-told:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the observer has not returned")
		}
	})
}

// panickingLog is a logger with a bug.
type panickingLog struct{ slog.Handler }

func (panickingLog) Enabled(context.Context, slog.Level) bool  { return true }
func (panickingLog) Handle(context.Context, slog.Record) error { panic("a bug in the logger") }

// TestH6PanicOfAnObserverStopsNothing, nor one of a logger: waits, renewals and losses go on.
func TestH6PanicOfAnObserverStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, inner := 0, memory(t)
		store := &faulty{Store: inner}
		store.renew = func(ctx context.Context, batch []driver.Renewal, next renewFunc) {
			if calls++; calls%2 == 1 {
				out(batch, errOutOfReach) // which is logged
				return
			}
			next(ctx, batch)
		}
		l := locker(t, store, tenure.Options{
			Logger: slog.New(panickingLog{quiet().Handler()}),
			Observer: &tenure.Observer{
				Wait:  func(string, *tenure.Holder) { panic("a bug in Wait") },
				Renew: func(*tenure.Lease, error) { panic("a bug in Renew") },
				Lost:  func(*tenure.Lease, error) { panic("a bug in Lost") },
			},
		})
		lease := acquire(t, l, "x")
		next := make(chan *tenure.Lease)
		go func() { next <- acquire(t, l, "x") }()
		time.Sleep(3 * ttl)
		release(t, lease)
		lease = <-next
		inner.Lose("x")
		if err := lease.Release(t.Context()); !errors.Is(err, tenure.ErrLost) {
			t.Errorf("release: %v", err)
		}
		release(t, acquire(t, l, "x"))
	})
}

// TestH24PanicAtAGrantKeepsNothing: the caller whose observer panics will never have the lease.
func TestH24PanicAtAGrantKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		l := locker(t, inner, tenure.Options{})
		bad, err := l.With(func(o *tenure.Options) {
			buggy := func(*tenure.Lease, time.Duration) { panic("a bug") }
			o.Observer = &tenure.Observer{Grant: buggy, Handoff: buggy}
		})
		if err != nil {
			t.Fatal(err)
		}
		panics := func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _ = bad.Acquire(context.Background(), "x")
		}
		panics()
		free(t, inner, "x")
		lease, handed := acquire(t, l, "x"), make(chan struct{})
		go func() {
			defer close(handed)
			panics()
		}()
		synctest.Wait()
		release(t, lease)
		<-handed
		free(t, inner, "x")
		release(t, acquire(t, l, "x"))
	})
}
