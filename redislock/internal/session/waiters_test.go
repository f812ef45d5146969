package session

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/servers"
)

// TestFirstInFirstOut across sessions.
func TestFirstInFirstOut(t *testing.T) {
	t.Parallel()
	holder := start(t).take(t, "fifo")
	var queue []*caller
	for range 8 {
		queue = append(queue, start(t).waitFor(t, "fifo"))
	}
	holder.releases()
	for i, w := range queue {
		w.granted(prompt)
		for _, later := range queue[i+1:] {
			select {
			case <-later.done:
				t.Fatalf("a later waiter was granted before %d", i)
			default:
			}
		}
		w.releases()
	}
}

// TestH21LostPush: a waiter who never hears of its grant asks, a quarter of the TTL later at most. The releaser may not publish.
func TestH21LostPush(t *testing.T) {
	t.Parallel()
	own := servers.StartRedis(t, servers.RedisOptions{})
	silent := as(t, own, "silent", "on", ">password", "~*", "&*", "+@all", "-publish")
	named := func(r *driver.Request) { r.Key, r.Terms.TTL = "app:"+r.Name, 4*time.Second }
	holder := silent.take(t, "lost-push", named)
	w := startAt(t, own.Address()).waitFor(t, "lost-push", named)
	released := driver.Now()
	holder.releases()
	if w.granted(prompt); w.at.Sub(released) > time.Second+slack {
		t.Errorf("granted %v after the release, with a TTL of 4 s", w.at.Sub(released))
	}
	w.releases()
}

// TestCutPush: a push that goes down with its connection is made up for as soon as the subscription stands again.
func TestCutPush(t *testing.T) {
	t.Parallel()
	s, proxy := behindProxy(t)
	holder := start(t).take(t, "cut-push")
	w := s.waitFor(t, "cut-push")
	proxy.Drop(false, true)
	holder.releases() // answered, so the push is on its way
	proxy.Cut()
	released := driver.Now()
	proxy.Heal()
	if w.granted(prompt); w.at.Sub(released) > time.Second+slack {
		t.Errorf("granted %v after the connections could be made again", w.at.Sub(released))
	}
	w.releases()
}

// TestDeadWaiter holds nobody up: the head of the queue is gone without a word.
func TestDeadWaiter(t *testing.T) {
	t.Parallel()
	holder := start(t).take(t, "dead-head")
	first, proxy := behindProxy(t)
	first.waitFor(t, "dead-head")
	next := start(t).waitFor(t, "dead-head")
	proxy.Refuse(true)
	proxy.Cut()
	channel := "tenure:" + first.info.Session
	until(t, prompt, "its subscription is gone", func() bool { return redis(t, "PUBSUB", "NUMSUB", channel) == channel+"\n0" })
	released := driver.Now()
	holder.releases()
	if next.granted(prompt); next.at.Sub(released) > time.Second+slack {
		t.Errorf("granted %v after the release, behind a dead waiter", next.at.Sub(released))
	}
	next.releases()
}

// TestStalledWaiter holds others up for its own TTL at most.
func TestStalledWaiter(t *testing.T) {
	t.Parallel()
	holder := start(t).take(t, "stalled-head")
	first, proxy := behindProxy(t)
	first.waitFor(t, "stalled-head", func(r *driver.Request) { r.Terms.TTL = 2 * time.Second })
	next := start(t).waitFor(t, "stalled-head")
	proxy.Drop(true, true)
	released := driver.Now()
	holder.releases()
	if next.granted(prompt); next.at.Sub(released) > 2*time.Second+slack {
		t.Errorf("granted %v after the release, behind a stalled waiter with a TTL of 2 s", next.at.Sub(released))
	}
	next.releases()
}

// TestH12CancelledWaiter leaves the queue, and passes on what it was granted in the same moment.
func TestH12CancelledWaiter(t *testing.T) {
	t.Parallel()
	a, b := start(t), start(t)
	for i := range 50 {
		name := fmt.Sprint("cancelled", i)
		holder := a.take(t, name)
		w := b.caller(t, name, waits)
		ctx, cancel := context.WithCancel(t.Context())
		go w.acquire(ctx)
		<-w.queued
		go cancel()
		holder.releases()
		<-w.done
		if w.err == nil {
			w.releases()
		} else {
			batch := []driver.Removal{{Ref: w.req.Ref}}
			b.Abandon(t.Context(), batch)
			if batch[0].Err != nil {
				t.Fatal(batch[0].Err)
			}
		}
		a.take(t, name).releases()
	}
}

// TestH44ScriptsAreForgotten: they are sent again.
func TestH44ScriptsAreForgotten(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.take(t, "forgotten")
	redis(t, "SCRIPT", "FLUSH")
	if _, err := c.renew(); err != nil {
		t.Error(err)
	}
	redis(t, "SCRIPT", "FLUSH")
	c.releases()
}

// TestNothingIsLeft at the server when all is released.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	a, b := start(t), start(t)
	holder := a.take(t, "left")
	w := b.waitFor(t, "left")
	holder.releases()
	w.granted(prompt).releases()
	for _, kind := range []string{"queue", "waiters", "readers", "ran"} {
		if redis(t, "EXISTS", "{left}:tenure1:"+kind) != "0" {
			t.Errorf("the key of the %s is left", kind)
		}
	}
	if redis(t, "EXISTS", "left") != "0" {
		t.Error("the lock is left")
	}
}

// TestDeadReadersShare: a live reader's renewals do not keep a dead reader's share, so a writer waits for no longer than that.
func TestDeadReadersShare(t *testing.T) {
	t.Parallel()
	dead, live, writer := start(t), start(t), start(t)
	reads := func(ttl time.Duration) func(*driver.Request) {
		return func(r *driver.Request) { r.Mode, r.Terms.TTL = driver.Shared, ttl }
	}
	dead.take(t, "read", reads(2*time.Second))
	began := driver.Now()
	second := live.take(t, "read", reads(10*time.Second))
	w := writer.waitFor(t, "read", func(r *driver.Request) { r.Terms.TTL = 4 * time.Second })
	if _, err := second.renew(); err != nil {
		t.Fatal(err)
	}
	second.releases()
	if w.granted(prompt); w.at.Sub(began) < 1900*time.Millisecond || w.at.Sub(began) > 3*time.Second+slack {
		t.Errorf("granted %v after the dead reader's grant", w.at.Sub(began))
	}
	w.releases()
}
