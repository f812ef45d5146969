package tenure_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// The rules of this file hold whatever a driver does: a mistake of its costs a lease or an answer, never the promise, the
// name for good, or the program.

// TestUnansweredRenewalIsAFailure: a driver that fills in nothing has proved nothing.
func TestUnansweredRenewalIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, proved := 0, 0
		store := &faulty{Store: memory(t)}
		store.renew = func(_ context.Context, batch []driver.Renewal, _ renewFunc) {
			if calls++; calls > 1000 { // lets time go on if it is asked without a pause
				out(batch, errOutOfReach)
				return
			}
			for i := range batch {
				batch[i].Err = nil // as if it had been answered
			}
		}
		lease := acquire(t, locker(t, store, tenure.Options{Observer: &tenure.Observer{Renew: func(_ *tenure.Lease, err error) {
			if err == nil {
				proved++
			}
		}}}), "x")
		begin := time.Now()
		<-lease.Done()
		synctest.Wait()
		if held := time.Since(begin); held > trusted || proved > 0 {
			t.Errorf("held for %v, trusted were %v; %d renewals without a proof were told as successes", held, trusted, proved)
		}
		if calls > 50 {
			t.Errorf("the driver was asked %d times in %v", calls, trusted)
		}
	})
}

// TestStaleProofDoesNotSpin: an old proof prolongs nothing, and is no reason to ask without a pause.
func TestStaleProofDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, first := 0, driver.Now()
		store := &faulty{Store: memory(t)}
		store.renew = func(_ context.Context, batch []driver.Renewal, _ renewFunc) {
			if calls++; calls > 1000 {
				out(batch, errOutOfReach)
				return
			}
			for i := range batch {
				batch[i].Proof, batch[i].Err = driver.Proof{Sent: first, Valid: ttl}, nil
			}
		}
		lease := acquire(t, locker(t, store, tenure.Options{}), "x")
		begin := time.Now()
		<-lease.Done()
		synctest.Wait()
		if held := time.Since(begin); held > trusted || calls > 50 {
			t.Errorf("held for %v, trusted were %v; the driver was asked %d times", held, trusted, calls)
		}
	})
}

// TestH2NoProofIsBelievedBeyondReason: none is from the future, and none is good for more than the TTL.
func TestH2NoProofIsBelievedBeyondReason(t *testing.T) {
	for what, lie := range map[string]func(*driver.Proof){
		"sent in the future": func(p *driver.Proof) { p.Sent = p.Sent.Add(time.Hour) },
		"good for too long":  func(p *driver.Proof) { p.Valid *= 10 },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{Store: memory(t)}
				store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (driver.Grant, error) {
					grant, err := next(ctx, req)
					lie(&grant.Proof)
					return grant, err
				}
				store.renew = func(ctx context.Context, batch []driver.Renewal, next renewFunc) {
					next(ctx, batch)
					for i := range batch {
						lie(&batch[i].Proof)
					}
				}
				lease := acquire(t, locker(t, store, tenure.Options{}), "x")
				for _, what := range []string{"a grant", "a renewal", "a later renewal"} {
					if left := time.Until(lease.Until()); left > trusted {
						t.Errorf("%s is trusted for %v", what, left)
					}
					time.Sleep(ttl/3 + time.Second)
				}
				release(t, lease)
			})
		})
	}
}

// TestH24PanicInAcquireKeepsNothing, although the store had granted it.
func TestH24PanicInAcquireKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, inner := 0, memory(t)
		store := &faulty{Store: inner}
		store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (driver.Grant, error) {
			grant, err := next(ctx, req)
			if calls++; calls == 1 {
				panic("a bug")
			}
			return grant, err
		}
		l := locker(t, store, tenure.Options{})
		_, err := l.TryAcquire(t.Context(), "x")
		if !errors.Is(err, tenure.ErrUnavailable) || !errors.Is(err, tenure.ErrUnknown) || !strings.Contains(err.Error(), "a bug") {
			t.Errorf("acquire: %v", err)
		}
		synctest.Wait()
		free(t, inner, "x")
		release(t, acquire(t, l, "x"))
	})
}

// TestPanicInReleaseIsAnUnconfirmedOne: the clean-up frees the name, here and elsewhere.
func TestPanicInReleaseIsAnUnconfirmedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		store := &faulty{Store: inner}
		store.release = func(context.Context, driver.Ref, releaseFunc) error { panic("a bug") }
		l := locker(t, store, tenure.Options{})
		err := l.Do(t.Context(), "x", func(context.Context, *tenure.Lease) error { return nil })
		if !errors.Is(err, tenure.ErrUnavailable) || !strings.Contains(err.Error(), "a bug") {
			t.Errorf("do: %v", err)
		}
		store.set(func(f *faulty) { f.release = nil })
		synctest.Wait()
		free(t, inner, "x")
		release(t, acquire(t, l, "x"))
	})
}

// TestH6OnePanicInRenewIsNoLoss, as one failed renewal is none.
func TestH6OnePanicInRenewIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		store := &faulty{Store: memory(t)}
		store.renew = func(ctx context.Context, batch []driver.Renewal, next renewFunc) {
			if calls++; calls%2 == 1 {
				panic("a bug")
			}
			next(ctx, batch)
		}
		lease := acquire(t, locker(t, store, tenure.Options{}), "x")
		time.Sleep(4 * ttl)
		release(t, lease)
	})
}

// TestCleanUpIsRepeatedUntilItIsAnswered, whether the driver panicked or left it unanswered.
func TestCleanUpIsRepeatedUntilItIsAnswered(t *testing.T) {
	for what, bad := range map[string]func(){"panics": func() { panic("a bug") }, "leaves it unanswered": func() {}} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, inner := 0, memory(t)
				store := &faulty{Store: inner}
				store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (driver.Grant, error) {
					_, _ = next(ctx, req)
					return driver.Grant{}, &driver.Fault{Kind: driver.Unknown, Err: errors.New("queued, and then?")} // one answer is enough
				}
				store.abandon = func(ctx context.Context, batch []driver.Removal, next abandonFunc) {
					if calls++; calls <= 5 {
						bad()
						return
					}
					next(ctx, batch)
				}
				_, err := locker(t, store, tenure.Options{}).TryAcquire(t.Context(), "x")
				if !errors.Is(err, tenure.ErrUnknown) {
					t.Errorf("acquire: %v", err)
				}
				time.Sleep(ttl / 4) // so that it is not the TTL that frees the name
				free(t, inner, "x")
			})
		})
	}
}

// TestH23GrantThatCannotBeIsGivenBack: a number or a slot out of range, or a loss before the answer.
func TestH23GrantThatCannotBeIsGivenBack(t *testing.T) {
	for what, spoil := range map[string]func(*driver.Request, *driver.Grant){
		"number 0":         func(_ *driver.Request, g *driver.Grant) { g.Number = 0 },
		"number -1":        func(_ *driver.Request, g *driver.Grant) { g.Number = -1 },
		"number 2^55":      func(_ *driver.Request, g *driver.Grant) { g.Number = driver.MaxNumber + 1 },
		"slot -1":          func(_ *driver.Request, g *driver.Grant) { g.Slot = -1 },
		"slot 2 of 2":      func(_ *driver.Request, g *driver.Grant) { g.Slot = 2 },
		"lost":             func(req *driver.Request, _ *driver.Grant) { req.Watch.Lost(errOutOfReach) },
		"no proof":         func(_ *driver.Request, g *driver.Grant) { g.Proof = driver.Proof{} },
		"a negative proof": func(_ *driver.Request, g *driver.Grant) { g.Proof.Valid = -time.Hour },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := memory(t)
				store := &faulty{Store: inner}
				store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (driver.Grant, error) {
					grant, err := next(ctx, req)
					spoil(req, &grant)
					return grant, err
				}
				l := locker(t, store, tenure.Options{})
				if lease, err := l.Slots(2).TryAcquire(t.Context(), "pool"); err == nil {
					t.Fatalf("granted %q with token %d", lease.Name(), lease.Token())
				}
				synctest.Wait()
				free(t, inner, "pool#1")
				free(t, inner, "pool#2")
				store.set(func(f *faulty) { f.acquire = nil })
				release(t, acquire(t, l, "pool#1"))
				release(t, acquire(t, l, "pool#2"))
			})
		})
	}
}

// TestQuestionsContextIsOverAfterIt, also for a driver that asks for Done only then.
func TestQuestionsContextIsOverAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept context.Context
		store := &faulty{Store: memory(t)}
		store.acquire = func(ctx context.Context, req *driver.Request, next acquireFunc) (driver.Grant, error) {
			kept = ctx
			return next(context.Background(), req)
		}
		lease := acquire(t, locker(t, store, tenure.Options{}), "x")
		select {
		case <-kept.Done():
		case <-time.After(time.Hour):
			t.Errorf("the question ended an hour ago; its context says %v", kept.Err())
		}
		_ = lease.Release(t.Context())
	})
}

// descriptorless is a store whose descriptors are gone with the grant.
type descriptorless struct{ faulty }

func (*descriptorless) Descriptors(driver.Ref) (driver.DescriptorSet, error) {
	return driver.DescriptorSet{}, driver.ErrNotOurs
}

func TestDescriptorsThatAreGoneAreALoss(t *testing.T) {
	lease := acquire(t, locker(t, &descriptorless{faulty{Store: memory(t)}}, tenure.Options{}), "x")
	if _, err := lease.Descriptors(); !errors.Is(err, tenure.ErrLost) {
		t.Errorf("descriptors: %v", err)
	}
	release(t, lease)
}
