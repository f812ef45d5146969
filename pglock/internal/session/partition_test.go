package session

import (
	"context"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// TestH1PartitionedHolder: its context has ended before its name is passed on, which is in bounded time.
func TestH1PartitionedHolder(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	other := start(t, direct, long)
	lease, err := locker(t, start(t, url, ttl(brief))).Acquire(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx := lease.Context(t.Context())
	w, ended := other.caller(t, "x"), false
	w.then = func() { ended = ctx.Err() != nil }
	w.waits(t.Context())
	defer proxy.Heal()
	proxy.Drop(true, true)
	w.gotBy(time.Now().Add(freed), "a holder that is cut off")
	if !ended {
		t.Error("its context had not ended when its name was passed on")
	}
	proxy.Heal()
	w.keeps()
	w.releases()
}

// TestH30PartitionedWaiter is granted the lock by the server, which does not know, and may not keep it.
func TestH30PartitionedWaiter(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	first, last := start(t, direct, long), start(t, direct, long)
	h := first.take(t, "x")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lost := start(t, url, ttl(brief)).caller(t, "x").waits(ctx)
	w := last.caller(t, "x").waits(t.Context())
	defer proxy.Heal()
	proxy.Drop(true, true)
	h.releases()
	w.gotBy(time.Now().Add(freed), "a waiter that is cut off")
	cancel()
	if lost.ends(prompt); lost.err == nil {
		t.Error("a waiter that was cut off has the lock too")
	}
	proxy.Heal()
	w.keeps()
	w.releases()
	lost.abandons()
	first.take(t, "x").releases()
}

// TestH3LateGrant: a grant that was long on its way is not trusted from its arrival.
func TestH3LateGrant(t *testing.T) {
	t.Parallel()
	direct := server.Database(t)
	url, proxy := through(t, direct)
	h := start(t, direct, long).take(t, "x")
	s := start(t, url, ttl(brief))
	w := s.caller(t, "x").waits(t.Context())
	defer proxy.Heal()
	proxy.Drop(false, true)
	cut := driver.Now()
	h.releases()
	time.Sleep(brief / 2) // the time that it is about
	proxy.Heal()
	if w.ends(prompt); w.err != nil { // the session may have ended meanwhile
		return
	}
	if late := w.grant.Proof.Sent.Sub(cut); late > brief/4 {
		t.Errorf("a grant that was %v on its way is trusted from %v after its sending", brief/2, late)
	}
}
