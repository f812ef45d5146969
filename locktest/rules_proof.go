package locktest

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

var proofRules = []Rule{
	{Name: "proof/call", Says: "A proof is from within the call that brought it, and valid for the TTL at most.", check: checkProofWithinCall},
	{Name: "proof/sent", Says: "A grant's proof was sent before the store granted it, never taken at the answer.", check: checkProofBeforeGrant},
	{Name: "proof/renewed", Says: "A renewal's proof was sent within the call, and is newer than the last.", check: checkProofOfRenewal},
	{Name: "proof/waiter", Says: "A waiter's proof was sent before it was granted, never taken when the grant arrived.", check: checkProofOfWaiter},
	{Name: "proof/fresh", Says: "A grant to one who waited for longer than a TTL can be trusted when it arrives.", check: checkProofAfterLongWait},
}

func (c *claim) proofIsWithinCall(proof driver.Proof, before, after driver.Instant) {
	t := c.s.t
	t.want(!proof.Sent.Before(before), "the proof was sent %v before the call", before.Sub(proof.Sent))
	t.want(!after.Before(proof.Sent), "the proof was sent %v after the answer", proof.Sent.Sub(after))
	t.want(proof.Valid > 0 && proof.Valid <= c.req.Terms.TTL, "a proof is valid for %v with a TTL of %v", proof.Valid, c.req.Terms.TTL)
}

func checkProofWithinCall(t *trial) {
	a := t.brief()
	for range 3 {
		c := a.take(t.name("x"), lasting(t.TTL))
		c.proofIsWithinCall(c.grant.Proof, c.began, c.ended)
		c.releases()
		t.pause(t.poll())
	}
}

func checkProofOfRenewal(t *trial) {
	a := t.open()
	c := a.take(t.name("x"))
	last := c.grant.Proof
	for range 3 {
		t.pause(t.poll())
		before := driver.Now()
		proof := c.renews()
		c.proofIsWithinCall(proof, before, driver.Now())
		t.want(last.Sent.Before(proof.Sent), "a renewal's proof is not newer than the last")
		last = proof
	}
}

// seenHeldBy waits until an onlooker sees the name held by a session, and gives the moment before which that was.
func (t *trial) seenHeldBy(onlooker, holder *session, name string, within time.Duration) (at driver.Instant, seen bool) {
	id := holder.Info().Session
	seen = t.until(within, func() bool {
		for _, h := range onlooker.inspect(name).Holders {
			if h.Session == id || h.Session == "" && t.info.ListsAfter > 0 { // nobody else asks for it
				at = driver.Now()
				return true
			}
		}
		return false
	})
	return at, seen
}

func checkProofBeforeGrant(t *trial) {
	name := t.name("x")
	a, onlooker := t.open(), t.open()
	c := a.claim(name)
	t.start(func() {
		defer close(c.done)
		c.ask(t.ctx)
	})
	at, seen := t.seenHeldBy(onlooker, a, name, t.Prompt)
	t.want(seen, "an onlooker did not see the grant within %v", t.Prompt)
	c.got(t.TTL)
	t.want(!at.Before(c.grant.Proof.Sent), "the store had granted it %v before the proof says that it was sent", c.grant.Proof.Sent.Sub(at))
}

func checkProofOfWaiter(t *trial) {
	name := t.name("x")
	a, b, onlooker := t.open(), t.open(), t.open()
	for range 3 {
		holder := a.take(name)
		waiter := b.wait(t.ctx, name)
		holder.releases()
		at, seen := t.seenHeldBy(onlooker, b, name, t.Prompt)
		t.want(seen, "an onlooker did not see the waiter granted within %v", t.Prompt)
		waiter.got(t.TTL)
		t.want(!at.Before(waiter.grant.Proof.Sent), "the store had granted it %v before the proof says that it was sent", waiter.grant.Proof.Sent.Sub(at))
		t.want(!waiter.grant.Proof.Sent.Before(waiter.began), "the proof was sent %v before the call", waiter.began.Sub(waiter.grant.Proof.Sent))
		waiter.releases()
	}
}

func checkProofAfterLongWait(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.brief()
	for attempt := 1; ; attempt++ {
		holder := a.take(name)
		waiter := b.wait(t.ctx, name, lasting(t.TTL))
		t.pause(t.TTL * 5 / 2)
		holder.renews()
		holder.releases()
		waiter.got(t.Prompt)
		left := waiter.grant.Proof.Sent.Add(span(waiter.grant.Proof.Valid)).Sub(waiter.ended)
		if left > 0 {
			waiter.releases()
			return
		}
		// In real time the machine may have stood still; a fault of the store comes again.
		t.want(!t.Bubble && attempt < 3, "a waiter was granted with a proof that had been over for %v when it arrived", -left)
		_ = waiter.release()
	}
}
