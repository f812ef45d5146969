package tenure_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// counting counts the grants of the store.
func counting(t testing.TB, grants *int) *faulty {
	store := &faulty{Store: memory(t)}
	store.acquire = func(ctx context.Context, req *driver.Request, next func(context.Context, *driver.Request) (driver.Grant, error)) (driver.Grant, error) {
		*grants++
		return next(ctx, req)
	}
	return store
}

// queueUp has n callers wait for a name, and returns the tokens that they got, in order, when all are done.
func queueUp(t *testing.T, l *tenure.Locker, n int, work func()) []tenure.Token {
	lease := acquire(t, l, "x")
	tokens := []tenure.Token{lease.Token()}
	var callers sync.WaitGroup
	for range n {
		callers.Go(func() {
			next := acquire(t, l, "x")
			tokens = append(tokens, next.Token())
			if work != nil {
				work()
			}
			release(t, next)
		})
	}
	synctest.Wait()
	release(t, lease)
	callers.Wait()
	return tokens
}

func TestHandoffCostsNoRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grants := 0
		l := locker(t, counting(t, &grants), tenure.Options{})
		tokens := queueUp(t, l, 600, nil)
		if grants != 3 { // 601 leases at 256 a grant
			t.Errorf("601 leases took %d grants", grants)
		}
		for i := 1; i < len(tokens); i++ {
			if tokens[i] <= tokens[i-1] {
				t.Fatalf("token %d after %d", tokens[i], tokens[i-1])
			}
		}
	})
}

func TestHandoffGivesOthersTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grants := 0
		l := locker(t, counting(t, &grants), tenure.Options{})
		queueUp(t, l, 100, func() { time.Sleep(time.Millisecond) })
		if grants < 8 || grants > 12 { // 10 ms of hand-offs a grant
			t.Errorf("100 leases of 1 ms took %d grants", grants)
		}
	})
}

func TestNoHandoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grants := 0
		l := locker(t, counting(t, &grants), tenure.Options{NoHandoff: true})
		for _, token := range queueUp(t, l, 20, nil) {
			if token&0xff != 0 {
				t.Errorf("token %d was handed on", token)
			}
		}
		if grants != 21 {
			t.Errorf("21 leases took %d grants", grants)
		}
	})
}

// TestHandoffOnlyOfWhatIsWanted: a caller with other terms gets a grant of its own.
func TestHandoffOnlyOfWhatIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grants := 0
		store := counting(t, &grants)
		first := locker(t, store, tenure.Options{})
		for _, opts := range []tenure.Options{{TTL: time.Minute}, {Margin: time.Millisecond}, {MinHold: time.Second}, {Holder: &tenure.Holder{Note: "other"}}} {
			other := locker(t, store, opts)
			lease := acquire(t, first, "x")
			before := grants
			var caller sync.WaitGroup
			caller.Go(func() { release(t, acquire(t, other, "x")) })
			synctest.Wait()
			release(t, lease)
			caller.Wait()
			if grants != before+1 {
				t.Errorf("%+v was served without a grant of its own", opts)
			}
		}
	})
}

// TestHandoffNeedsTrustedTime: while renewals fail, the store decides.
func TestHandoffNeedsTrustedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grants := 0
		store := counting(t, &grants)
		store.renew = func(_ context.Context, batch []driver.Renewal, _ func(context.Context, []driver.Renewal)) {
			out(batch, errOutOfReach)
		}
		l := locker(t, store, tenure.Options{})
		lease := acquire(t, l, "x")
		var caller sync.WaitGroup
		caller.Go(func() { release(t, acquire(t, l, "x")) })
		time.Sleep(trusted - ttl/5)
		release(t, lease)
		caller.Wait()
		if grants != 2 {
			t.Errorf("%d grants: a grant near its end was handed on", grants)
		}
	})
}

// TestHandedLeaseIsRenewed beyond the grant's first TTL, and lost like any other.
func TestHandedLeaseIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory(t)
		l := locker(t, inner, tenure.Options{})
		first := acquire(t, l, "x")
		var caller sync.WaitGroup
		caller.Go(func() {
			second := acquire(t, l, "x")
			if tenure.Handed(second) != 1 {
				t.Errorf("token %d was not handed on", second.Token())
			}
			time.Sleep(5 * ttl)
			if err := second.Err(); err != nil {
				t.Error(err)
			}
			inner.Lose("x")
			<-second.Done()
		})
		time.Sleep(time.Second)
		release(t, first)
		caller.Wait()
	})
}
