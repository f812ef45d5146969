package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// These rules need what can go wrong on the way to a store, one fault at a time.
var faultRules = []Rule{
	{Name: "fault/lost", Says: "An acquisition whose answer is lost is cleaned up, and the name is free at once, not after a TTL.", check: checkLostAnswer},
	{Name: "fault/overtaken", Says: "An acquire that runs after its clean-up is cleaned up again.", check: checkOvertaken},
	{Name: "fault/slept", Says: "A grant that arrives when its trust is over is given back, and not returned.", check: checkGrantArrivesLate},
	{Name: "abandon/late", Says: "What an acquire takes that came after its clean-up, the next clean-up frees.", check: checkAbandonBeforeAcquire},
}

func checkLostAnswer(t *trial) {
	name := t.name("x")
	a, b := t.locker(), t.locker()
	a.store.LoseNext()
	_, err := a.TryAcquire(t.ctx, name)
	t.want(errors.Is(err, tenure.ErrUnavailable) && errors.Is(err, tenure.ErrUnknown), "an acquisition whose answer was lost said: %v", err)
	began := time.Now()
	b.gives(b.must(name))
	t.want(time.Since(began) < t.Prompt, "the name was free after %v", time.Since(began))

	lease := b.must(name) // and one that waits
	a.store.LoseNext()
	ctx, cancel := context.WithTimeout(t.ctx, 50*t.poll())
	defer cancel()
	_, err = a.Acquire(ctx, name)
	t.want(err != nil, "a name that is held was granted")
	b.gives(lease)
	t.notStranded(name)
}

func checkOvertaken(t *trial) {
	name := t.name("x")
	a, b := t.locker(ttl(t.TTL)), t.locker(ttl(t.TTL))
	a.store.OvertakeNext()
	_, err := a.TryAcquire(t.ctx, name)
	t.want(errors.Is(err, tenure.ErrUnknown), "an acquisition whose answer is missing said: %v", err)
	began := time.Now()
	t.pause(t.TTL / 2) // it has run by now, and nobody waits for it
	limit := began.Add(t.TTL * 9 / 8)
	if !t.Bubble {
		limit = limit.Add(t.Prompt)
	}
	ctx, cancel := context.WithDeadline(t.ctx, limit)
	defer cancel()
	lease, err := b.Acquire(ctx, name)
	t.want(err == nil, "the name is stranded by an acquire that ran after its clean-up: after %v, %v", time.Since(began), err)
	b.gives(lease)
}

func checkGrantArrivesLate(t *trial) {
	name, w := t.name("x"), t.witness()
	a, b := t.locker(ttl(t.TTL)), t.locker()
	lease := b.must(name)
	got := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.ctx, 10*t.TTL)
	defer cancel()
	t.start(func() {
		lease, err := a.Acquire(ctx, name)
		if err == nil {
			w.granted(lease, false)
			w.leaving(lease)
			_ = lease.Release(t.ctx)
		}
		got <- err
	})
	t.pause(t.TTL / 4)
	a.store.Cut()
	b.gives(lease) // granted to one who sleeps
	t.pause(2 * t.TTL)
	if t.info.Guarantees.Promises.Has(driver.StalledHolderFreed) {
		lease = b.must(name) // it has run out
		w.granted(lease, false)
		a.store.Heal() // the answer arrives now
		t.pause(t.TTL / 2)
		w.leaving(lease)
		b.gives(lease)
	}
	a.store.Heal()
	select {
	case err := <-got:
		t.no(err, "acquire after a sleep")
	case <-time.After(4*t.TTL + t.Prompt):
		t.failf("one who had slept for two TTLs was not granted within four more")
	}
	t.notStranded(name)
}

func checkAbandonBeforeAcquire(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	c := a.claim(name)
	t.no(c.abandon(), "abandon what has not arrived yet")
	c.ask(t.ctx) // granted, or refused since it is known to be void
	t.no(c.abandon(), "abandon it again")
	b.take(name).releases()
}
