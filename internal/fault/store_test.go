package fault_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/fault"
	"github.com/tenurelock/tenure/internal/leak"
	"github.com/tenurelock/tenure/memlock"
)

func TestMain(m *testing.M) { leak.Main(m) }

const ttl = 10 * time.Second

type deaf struct{}

func (deaf) Queued(*driver.Holder) {}
func (deaf) Asked(string)          {}
func (deaf) Lost(error)            {}

func request(acq uint64) *driver.Request {
	return &driver.Request{Ref: driver.Ref{Name: "x", Key: "x", Acq: acq}, Terms: driver.Terms{TTL: ttl}, Watch: deaf{}}
}

// in runs a test in a bubble, with a store behind faults and one without.
func in(t *testing.T, plan fault.Plan, f func(t *testing.T, bad *fault.Store, good *memlock.Store)) {
	synctest.Test(t, func(t *testing.T) {
		good := memlock.New(memlock.Options{})
		bad := fault.Wrap(good.Session(), plan)
		f(t, bad, good)
		_ = bad.Close(t.Context())
		_ = good.Close(t.Context())
	})
}

func free(t *testing.T, s *memlock.Store) bool {
	t.Helper()
	report, err := s.Inspect(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	return len(report.Holders) == 0
}

func isKind(err error, kind driver.Kind) bool {
	var f *driver.Fault
	return errors.As(err, &f) && f.Kind == kind
}

func TestFailedRequestHasNoEffect(t *testing.T) {
	in(t, fault.Plan{Fail: 1}, func(t *testing.T, bad *fault.Store, good *memlock.Store) {
		_, err := bad.Acquire(t.Context(), request(1))
		if !isKind(err, driver.Passing) || !free(t, good) {
			t.Errorf("got %v; free: %v", err, free(t, good))
		}
	})
}

func TestLostAnswerHasItsEffect(t *testing.T) {
	in(t, fault.Plan{}, func(t *testing.T, bad *fault.Store, good *memlock.Store) {
		bad.LoseNext()
		_, err := bad.Acquire(t.Context(), request(1))
		if !isKind(err, driver.Unknown) || free(t, good) {
			t.Errorf("got %v; free: %v", err, free(t, good))
		}
	})
}

func TestOvertakenRequestRunsLater(t *testing.T) {
	in(t, fault.Plan{Delay: ttl / 4}, func(t *testing.T, bad *fault.Store, good *memlock.Store) {
		bad.OvertakeNext()
		_, err := bad.Acquire(t.Context(), request(1))
		bad.Abandon(t.Context(), []driver.Removal{{Ref: request(1).Ref}})
		if !isKind(err, driver.Unknown) || !free(t, good) {
			t.Fatalf("got %v; free: %v", err, free(t, good))
		}
		time.Sleep(ttl / 3)
		if free(t, good) {
			t.Error("the request did not run after its clean-up")
		}
	})
}

func TestCutSessionAnswersOnlyAfterHeal(t *testing.T) {
	in(t, fault.Plan{}, func(t *testing.T, bad *fault.Store, good *memlock.Store) {
		bad.Cut()
		ctx, cancel := context.WithTimeout(t.Context(), ttl/2)
		defer cancel()
		_, err := bad.Acquire(ctx, request(1))
		if !isKind(err, driver.Unknown) || ctx.Err() == nil || !free(t, good) {
			t.Errorf("got %v; free: %v", err, free(t, good))
		}
		bad.Heal()
		if _, err := bad.Acquire(t.Context(), request(2)); err != nil {
			t.Errorf("after healing: %v", err)
		}
	})
}

func TestCalmEndsThePlan(t *testing.T) {
	in(t, fault.Plan{Lose: 1}, func(t *testing.T, bad *fault.Store, _ *memlock.Store) {
		bad.Calm()
		if _, err := bad.Acquire(t.Context(), request(1)); err != nil {
			t.Error(err)
		}
		if err := bad.Release(t.Context(), request(1).Ref); err != nil {
			t.Error(err)
		}
	})
}
