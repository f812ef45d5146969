package proof

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/memlock"
)

// answerTime is a driver that counts trust from the arrival of a renewal's answer (H2), over a slow way, and that hears of
// no loss by itself.
type answerTime struct{ driver.Store }

func (s answerTime) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	deafened := *req
	deafened.Watch = deaf{req.Watch}
	return s.Store.Acquire(ctx, &deafened)
}

type deaf struct{ driver.Watcher }

func (deaf) Lost(error) {}

func (s answerTime) Renew(ctx context.Context, batch []driver.Renewal) {
	s.Store.Renew(ctx, batch)
	wait(ctx, batch[0].Terms.TTL/10)
	for i := range batch {
		batch[i].Proof.Sent = driver.Now()
	}
}

// standby is a driver that grants what is held, as a hot standby does beside its primary (H33).
type standby struct{ driver.Store }

func (s standby) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	grant, err := s.Store.Acquire(ctx, req)
	if err != nil && req.Mode == driver.Exclusive && len(req.Slots) == 0 {
		sent := driver.Now()
		grant = driver.Grant{Number: time.Now().UnixMicro(), Proof: driver.Proof{Sent: sent, Valid: req.Terms.TTL}}
		return grant, nil
	}
	return grant, err
}

// forgetful is a driver that leaves behind what it should clean up (H12, H24).
type forgetful struct{ driver.Store }

func (s forgetful) Abandon(_ context.Context, batch []driver.Removal) {
	for i := range batch {
		batch[i].Err = nil
	}
}

// restarts is a driver whose numbers begin anew with each session, as a counter does that a crash took (H42, H47).
type restarts struct {
	driver.Store
	base *int64
}

func (s restarts) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	grant, err := s.Store.Acquire(ctx, req)
	if err == nil {
		grant.Number -= *s.base
	}
	return grant, err
}

// hangs is a driver whose client library knows a time-out of its own, and no context (H14).
type hangs struct{ driver.Store }

func (s hangs) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	wait(context.Background(), 5*time.Second)
	return s.Store.Acquire(ctx, req)
}

// TestTortureCatches real mistakes, each within a few seeds.
func TestTortureCatches(t *testing.T) {
	const ttl = 3 * time.Second
	needed := map[string]uint64{}
	defer func() { t.Logf("seeds needed: %v", needed) }()
	some := Faults{Fail: 0.04, Mute: 0.06, Slow: 0.3, Delay: ttl / 10} // none late: that hides what is left behind
	for name, mutant := range map[string]struct {
		over   func(driver.Store, int) driver.Store
		says   string
		faults Faults
	}{
		"trust from the answer":   {func(s driver.Store, _ int) driver.Store { return answerTime{s} }, "trusted at once", some},
		"a grant of what is held": {func(s driver.Store, _ int) driver.Store { return standby{s} }, "trusted at once", some},
		"no clean-up":             {func(s driver.Store, _ int) driver.Store { return forgetful{s} }, "is stranded", some},
		"an acquire that hangs":   {func(s driver.Store, _ int) driver.Store { return hangs{s} }, "after its context", some},
		"numbers that start anew": {func(s driver.Store, n int) driver.Store { back := int64(n) << 24; return restarts{s, &back} }, "fell", some},
	} {
		t.Run(name, func(t *testing.T) {
			caught := ""
			for seed := uint64(1); seed <= 100 && !strings.Contains(caught, mutant.says); seed++ {
				needed[name] = seed
				synctest.Test(t, func(t *testing.T) {
					store, opened := memlock.New(memlock.Options{TTL: ttl}), 0
					_, err := Torture(t.Context(), Config{
						Seed: seed,
						Open: func(context.Context) (driver.Store, error) {
							opened++
							return mutant.over(store.Session(), opened), nil
						},
						Lose:   func(name string) { store.Lose(name) },
						Faults: mutant.faults,
						Exact:  true,
						Clock:  Rising(ProcessClock()),
					})
					if err != nil {
						caught = err.Error()
					}
				})
			}
			if !strings.Contains(caught, mutant.says) {
				t.Errorf("the torture said %q, and should have said %q", caught, mutant.says)
			}
		})
	}
}
