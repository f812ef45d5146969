package locktest

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

var expiryRules = []Rule{
	{Name: "expiry/late", Says: "A grant that nobody renews is freed a TTL later.", needs: needs{promises: driver.StalledHolderFreed}, check: checkExpiryInTime},
	{Name: "expiry/early", Says: "A grant is not passed on before its last proof can have ended.", check: checkExpiryNotEarly},
	{Name: "expiry/waiter", Says: "A waiter is granted what a stalled holder lets run out.", needs: needs{promises: driver.StalledHolderFreed}, check: checkExpiryServesWaiter},
	{Name: "expiry/kept", Says: "A holder that stalls keeps the name.", needs: needs{breaks: driver.StalledHolderFreed}, check: checkStalledKeeps},
}

func checkExpiryInTime(t *trial) {
	name := t.name("x")
	a, b := t.brief(), t.open()
	a.take(name, lasting(t.TTL))
	b.takeSoon(t.TTL+t.Prompt, name).releases()
	held := a.take(name, lasting(t.TTL)) // nor does one renewal make it immortal
	held.renews()
	b.takeSoon(t.TTL+t.Prompt, name).releases()
}

func checkExpiryNotEarly(t *trial) {
	name := t.name("x")
	a, b := t.brief(), t.open()
	held := a.take(name, lasting(t.TTL))
	t.pause(t.TTL / 2)
	proof, err := held.renew()
	if err == nil {
		held.grant.Proof = proof
	} else if t.Bubble || t.trusted(held) {
		t.no(err, "renew after half a TTL")
	}
	for t.trusted(held) {
		c := b.try(name)
		t.want(c.err != nil || c.ended > held.grant.Proof.Sent.Add(span(t.TTL)),
			"the name was granted to another session %v after it was proved, with a TTL of %v", c.ended.Sub(held.grant.Proof.Sent), t.TTL)
		t.pause(t.TTL / 50)
	}
}

func checkExpiryServesWaiter(t *trial) {
	name := t.name("x")
	a, b := t.brief(), t.open()
	held := a.take(name, lasting(t.TTL))
	waiter := b.wait(t.ctx, name)
	began := time.Now()
	waiter.got(t.TTL + t.Prompt)
	t.want(waiter.ended >= held.grant.Proof.Sent.Add(span(t.TTL)), "the waiter was granted after %v of a TTL of %v", time.Since(began), t.TTL)
	waiter.releases()
}

func checkStalledKeeps(t *trial) {
	name := t.name("x")
	a, b := t.brief(), t.open()
	held := a.take(name, lasting(t.TTL))
	waiter := b.wait(t.ctx, name)
	for end := time.Now().Add(2 * t.TTL); time.Now().Before(end); t.pause(t.TTL / 20) {
		t.want(!waiter.over(), "the name of a holder that only stalled was passed on")
	}
	held.releases()
	waiter.got(t.Prompt).releases()
}
