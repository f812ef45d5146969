package session

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
)

// TestH47TokensRise over a server that loses its memory, by SIGKILL, by FLUSHALL, or by eviction of all that may go.
func TestH47TokensRise(t *testing.T) {
	t.Parallel()
	own := servers.StartRedis(t, servers.RedisOptions{})
	s := startAt(t, own.Address())
	last := int64(0)
	rises := func(after string) {
		t.Helper()
		var c *caller
		until(t, prompt, "a grant after "+after, func() bool {
			c = s.caller(t, "x")
			c.acquire(t.Context())
			return c.err == nil
		})
		if c.grant.Number <= last {
			t.Errorf("grant %d after %d, after %s", c.grant.Number, last, after)
		}
		last = c.grant.Number
		c.releases()
	}
	rises("nothing")
	rises("a grant")
	if _, err := own.Command("FLUSHALL"); err != nil {
		t.Fatal(err)
	}
	rises("FLUSHALL")
	if _, err := own.Command("DEL", "{x}:tenure1:state"); err != nil {
		t.Fatal(err)
	}
	rises("eviction of the state")
	if err := own.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	rises("SIGKILL")
}

// TestTokensRiseOverTheClock: a clock that was ahead when the last grant was numbered, or is set back, does not make numbers
// fall while the state is there.
func TestTokensRiseOverTheClock(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.take(t, "ahead").releases()
	state := redis(t, "GET", "{ahead}:tenure1:state")
	_, rest, _ := strings.Cut(state, "|")
	future := time.Now().Add(time.Hour).UnixMicro()
	redis(t, "SET", "{ahead}:tenure1:state", strconv.FormatInt(future, 10)+"|"+rest)
	for want := future + 1; want < future+3; want++ {
		c := s.take(t, "ahead")
		if c.grant.Number != want {
			t.Errorf("grant %d instead of %d", c.grant.Number, want)
		}
		c.releases()
	}
}

// TestH63NumbersAreExact: up to what Lua counts exactly, and not beyond it.
func TestH63NumbersAreExact(t *testing.T) {
	t.Parallel()
	s := start(t)
	const highest = 1<<53 - 1
	redis(t, "SET", "{exact}:tenure1:state", strconv.Itoa(highest-1)+"|0|0||")
	c := s.take(t, "exact")
	if c.grant.Number != highest {
		t.Errorf("grant %d instead of %d", c.grant.Number, highest)
	}
	c.releases()
	last := s.caller(t, "exact")
	if last.acquire(t.Context()); last.err == nil || !strings.Contains(last.err.Error(), "numbers above") {
		t.Errorf("%+v, %v", last.grant, last.err)
	}
	if redis(t, "EXISTS", "exact") != "0" {
		t.Error("a lock was left that has no number")
	}
}

// TestFailoverToALaggingReplica: a replica that has seen nothing of the last grants numbers above them all the same.
func TestFailoverToALaggingReplica(t *testing.T) {
	t.Parallel()
	primary := servers.StartRedis(t, servers.RedisOptions{})
	replica := primary.Replica(t, servers.RedisOptions{})
	if err := replica.Promote(); err != nil { // from here on it lags
		t.Fatal(err)
	}
	last := startAt(t, primary.Address()).take(t, "x").grant.Number
	if got := startAt(t, replica.Address()).take(t, "x").grant.Number; got <= last {
		t.Errorf("grant %d after %d", got, last)
	}
}

// TestPushAndAskTell the same number, which is a grant's own.
func TestNumbersOfHandOffs(t *testing.T) {
	t.Parallel()
	a, b := start(t), start(t)
	last := int64(0)
	holder := a.take(t, "handed")
	for i := range 20 {
		next := []*Store{b, a}[i%2].waitFor(t, "handed")
		if last = holder.grant.Number; true {
			holder.releases()
		}
		next.granted(prompt)
		if next.grant.Number <= last || next.grant.Proof.Sent > driver.Now() {
			t.Fatalf("grant %d after %d", next.grant.Number, last)
		}
		holder = next
	}
	holder.releases()
}
