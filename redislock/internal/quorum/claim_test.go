package quorum

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenurelock/tenure/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group is a quorum of nodes in memory, in fake time.
type group struct {
	*testing.T
	*Quorum
	nodes []*memNode
}

const ttl = 30 * time.Second

func inGroup(t *testing.T, test func(g *group)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := &group{T: t}
		var nodes []Node
		for range 3 {
			n := &memNode{}
			g.nodes, nodes = append(g.nodes, n), append(nodes, n)
		}
		q, err := New(nodes, Options{})
		if err != nil {
			t.Fatal(err)
		}
		g.Quorum = q
		test(g)
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func (g *group) claim(owner string) *Claim { return g.Claim(Lock{Key: "name", Owner: owner, TTL: ttl}) }

func (g *group) acquire(owner string) (*Claim, driver.Grant) {
	g.Helper()
	c := g.claim(owner)
	grant, err := c.Acquire(g.Context(), 0)
	if err != nil {
		g.Fatal(err)
	}
	return c, grant
}

// at checks how much fake time has passed.
func (g *group) at(since time.Time, want time.Duration, what string) {
	g.Helper()
	if got := time.Since(since); got != want {
		g.Errorf("%s took %v, want %v", what, got, want)
	}
}

// nobody fails if the owner has a key.
func (g *group) nobody(owner string) {
	g.Helper()
	synctest.Wait()
	for i, n := range g.nodes {
		if n.has(owner) {
			g.Errorf("%s still has the key on node %d", owner, i)
		}
	}
}

// TestGrantsRise, and each is good for the TTL.
func TestGrantsRise(t *testing.T) {
	inGroup(t, func(g *group) {
		var last int64
		for _, owner := range []string{"a", "b", "c"} {
			c, grant := g.acquire(owner)
			if grant.Number <= last || grant.Proof.Valid != ttl {
				g.Errorf("after %d: %+v", last, grant)
			}
			last = grant.Number
			if err := c.Release(g.Context()); err != nil {
				g.Error(err)
			}
			g.nobody(owner)
		}
	})
}

// TestHeldSaysByWhom.
func TestHeldSaysByWhom(t *testing.T) {
	inGroup(t, func(g *group) {
		c, _ := g.acquire("a")
		var held *driver.HeldError
		if _, err := g.claim("b").Acquire(g.Context(), 0); !errors.As(err, &held) || held.Holder.Note != "a" || held.RetryAfter <= 0 {
			g.Errorf("%v", err)
		}
		if err := c.Release(g.Context()); err != nil {
			g.Error(err)
		}
		if err := c.Release(g.Context()); !errors.Is(err, driver.ErrNotOurs) {
			g.Errorf("released twice: %v", err)
		}
	})
}

// TestH50HungNodeDelaysNothing, whether it obeys its time-out or not; and when it goes on, nothing of ours is left there.
func TestH50HungNodeDelaysNothing(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		inGroup(t, func(g *group) {
			g.nodes[1].deaf = deaf
			goOn := g.nodes[1].stop()
			begin := time.Now()
			c, _ := g.acquire("a")
			g.at(begin, 0, "acquire")
			if _, err := c.Renew(g.Context()); err != nil {
				g.Error(err)
			}
			g.at(begin, 0, "renew")
			if err := c.Release(g.Context()); err != nil {
				g.Error(err)
			}
			g.at(begin, 0, "release")
			time.Sleep(ttl / 10)
			goOn()
			time.Sleep(ttl)
			g.nobody("a")
		})
	}
}

// TestHungMajorityIsGivenUp at the nodes' own time-out.
func TestHungMajorityIsGivenUp(t *testing.T) {
	inGroup(t, func(g *group) {
		goOn := []func(){g.nodes[0].stop(), g.nodes[1].stop()}
		begin := time.Now()
		_, err := g.claim("a").Acquire(g.Context(), 0)
		g.at(begin, 500*time.Millisecond, "acquire")
		var fault *driver.Fault
		if !errors.As(err, &fault) || fault.Kind != driver.Passing || !errors.Is(err, errTimeout) {
			g.Errorf("%v", err)
		}
		goOn[0]()
		goOn[1]()
		time.Sleep(ttl)
		g.nobody("a")
	})
}

// TestCallerLeaves before the nodes have answered: it returns at once, and what runs behind it is removed.
func TestCallerLeaves(t *testing.T) {
	inGroup(t, func(g *group) {
		goOn := []func(){g.nodes[0].stop(), g.nodes[1].stop()}
		ctx, cancel := context.WithTimeout(g.Context(), 100*time.Millisecond)
		defer cancel()
		begin := time.Now()
		if _, err := g.claim("a").Acquire(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			g.Errorf("%v", err)
		}
		g.at(begin, 100*time.Millisecond, "acquire")
		goOn[0]() // the acquires run now
		goOn[1]()
		g.nobody("a")
	})
}

// TestReleaseOfACallerThatLeft is sent all the same.
func TestReleaseOfACallerThatLeft(t *testing.T) {
	inGroup(t, func(g *group) {
		c, _ := g.acquire("a")
		goOn := []func(){g.nodes[0].stop(), g.nodes[1].stop(), g.nodes[2].stop()}
		ctx, cancel := context.WithCancel(g.Context())
		cancel()
		var fault *driver.Fault
		if err := c.Release(ctx); !errors.As(err, &fault) || fault.Kind != driver.Unknown || fault.Sent.IsZero() {
			g.Errorf("%v", err)
		}
		for _, f := range goOn {
			f()
		}
		g.nobody("a")
	})
}

// TestRenewTopsUp a node that has lost the key, and extends the others.
func TestRenewTopsUp(t *testing.T) {
	inGroup(t, func(g *group) {
		c, grant := g.acquire("a")
		time.Sleep(ttl / 3)
		g.nodes[2].lose()
		proof, err := c.Renew(g.Context())
		if err != nil || proof.Sent.Sub(grant.Proof.Sent) != ttl/3 {
			g.Errorf("%+v, %v", proof, err)
		}
		synctest.Wait()
		time.Sleep(ttl * 3 / 4)
		for i, n := range g.nodes {
			if !n.has("a") {
				g.Errorf("not on node %d", i)
			}
		}
		if err := c.Release(g.Context()); err != nil {
			g.Error(err)
		}
		g.nobody("a")
	})
}

// TestLateTopUpDoesNotSurviveARelease.
func TestLateTopUpDoesNotSurviveARelease(t *testing.T) {
	inGroup(t, func(g *group) {
		c, _ := g.acquire("a")
		synctest.Wait()
		g.nodes[2].lose()
		if _, err := c.Renew(g.Context()); err != nil {
			g.Error(err)
		}
		synctest.Wait() // topped up
		g.nodes[2].lose()
		before := g.nodes[2].calls
		goOn := g.nodes[2].stop()
		if _, err := c.Renew(g.Context()); err != nil { // its renewal hangs there
			g.Error(err)
		}
		if err := c.Release(g.Context()); err != nil {
			g.Error(err)
		}
		goOn()
		g.nobody("a")
		if g.nodes[2].calls < before+2 {
			g.Error("the node was not asked")
		}
	})
}

// TestLostKeysAreALoss.
func TestLostKeysAreALoss(t *testing.T) {
	inGroup(t, func(g *group) {
		c, _ := g.acquire("a")
		synctest.Wait()
		for _, n := range g.nodes {
			n.lose()
		}
		if _, err := c.Renew(g.Context()); !errors.Is(err, driver.ErrNotOurs) {
			g.Errorf("%v", err)
		}
		g.nobody("a")
	})
}

// TestCloseIsBounded, and says what it left behind; then nothing is sent.
func TestCloseIsBounded(t *testing.T) {
	inGroup(t, func(g *group) {
		g.nodes[1].deaf = true
		goOn := g.nodes[1].stop()
		c, _ := g.acquire("a")
		ctx, cancel := context.WithTimeout(g.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := g.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			g.Errorf("%v", err)
		}
		g.at(begin, time.Second, "close")
		if _, err := g.claim("b").Acquire(g.Context(), 0); !errors.Is(err, driver.ErrClosed) {
			g.Errorf("acquire after close: %v", err)
		}
		goOn()
		synctest.Wait()
		calls := g.nodes[1].calls
		if err := c.Release(g.Context()); !errors.Is(err, driver.ErrClosed) || g.nodes[1].calls != calls {
			g.Errorf("release after close: %v", err)
		}
	})
}

// TestCloseDoesNotWaitForLaterCleanUps: the key expires.
func TestCloseDoesNotWaitForLaterCleanUps(t *testing.T) {
	inGroup(t, func(g *group) {
		g.nodes[1].stop()
		c, _ := g.acquire("a")
		if err := c.Release(g.Context()); err != nil {
			g.Error(err)
		}
		time.Sleep(time.Second) // the acquire's time-out has passed: it is cleaned up again in a TTL
		begin := time.Now()
		if err := g.Close(g.Context()); err != nil {
			g.Error(err)
		}
		if took := time.Since(begin); took > time.Second {
			g.Errorf("close took %v", took)
		}
	})
}

// TestNewWantsAnOddNumber.
func TestNewWantsAnOddNumber(t *testing.T) {
	for count, good := range map[int]bool{0: false, 1: false, 2: false, 3: true, 4: false, 5: true} {
		if _, err := New(make([]Node, count), Options{}); (err == nil) != good {
			t.Errorf("%d nodes: %v", count, err)
		}
	}
	if _, err := New(make([]Node, 3), Options{Timeout: -1}); err == nil {
		t.Error("a negative time-out is taken")
	}
}
