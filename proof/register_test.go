package proof

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/memlock"
)

// lateWrite plays a holder that is stopped between its last look and its write, while the store passes the name on.
func lateWrite(t *testing.T, resource Resource) History {
	store := memlock.New(memlock.Options{TTL: 10 * time.Second})
	torture := newTorture(Config{
		Open:     func(context.Context) (driver.Store, error) { return store.Session(), nil },
		Resource: resource,
		Clock:    Rising(ProcessClock()),
	})
	var holders [2]*client
	for i := range holders {
		s := newSession(torture, i+1)
		if err := s.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer func() { torture.failIf(s.close(context.Background())) }()
		holders[i] = newClient(torture, s, 1)
	}
	take := func(c *client) *tenure.Lease {
		op := c.call("stock", driver.Exclusive)
		lease, err := c.home.locker(c.rng).Acquire(t.Context(), "stock")
		if err != nil {
			t.Fatal(err)
		}
		c.granted(op, lease)
		return lease
	}
	first, second := holders[0], holders[1]
	old := take(first)
	fence := old.Fence() // its last look
	store.Lose("stock")
	successor := take(second)
	second.write(t.Context(), successor.Fence())
	first.write(t.Context(), fence) // an instruction that was already past the look
	second.read(t.Context(), "stock")
	if err := old.Release(t.Context()); !errors.Is(err, tenure.ErrLost) {
		t.Errorf("the first holder was told %v", err)
	}
	if err := successor.Release(t.Context()); err != nil {
		t.Errorf("the successor was told %v", err)
	}
	allTold()
	history, err := torture.recorder.History()
	if err = errors.Join(append(torture.faults, err)...); err != nil {
		t.Error(err)
	}
	return history
}

// TestLateWriteIsRefused shows what the token is for, and that without a guard the checks see the successor's write gone.
func TestLateWriteIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		history := lateWrite(t, NewRegisters())
		if err := Check(history); err != nil {
			t.Errorf("guarded: %v\n%v", err, history)
		}
		tally := Tally{}
		tally.Add(history)
		if tally["write ok"] != 1 || tally["write stale"] != 1 {
			t.Errorf("guarded: %v", tally)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		history := lateWrite(t, NewUnguardedRegisters())
		err := Check(history)
		if err == nil || !strings.Contains(err.Error(), "took a stale write") {
			t.Errorf("unguarded: the checks say %v of\n%v", err, history)
		}
		if err := LinearizeRegisters(history, time.Minute); err == nil {
			t.Errorf("unguarded: porcupine passes\n%v", history)
		}
	})
}

// TestH63AdjacentTokens are told apart, though a double would not: they differ only in the number of the hand-off.
func TestH63AdjacentTokens(t *testing.T) {
	const high = tenure.Token(1<<62 + 1)
	registers := NewRegisters()
	if err := registers.Write(t.Context(), tenure.Fence{Name: "x", Token: high}, "new"); err != nil {
		t.Fatal(err)
	}
	err := registers.Write(t.Context(), tenure.Fence{Name: "x", Token: high - 1}, "old")
	var stale *tenure.StaleError
	if !errors.As(err, &stale) || stale.Newest != high {
		t.Errorf("the token before was told %v", err)
	}
	if err := registers.Write(t.Context(), tenure.Fence{Name: "x", Token: high}, "again"); err != nil {
		t.Errorf("the same token was told %v", err)
	}
	if err := registers.Write(t.Context(), tenure.Fence{}, "none"); !errors.Is(err, tenure.ErrStale) {
		t.Errorf("no fence was told %v", err)
	}
	if value, token, _ := registers.Read(t.Context(), "x"); value != "again" || token != high {
		t.Errorf("the register has %q under %v", value, token)
	}
}
