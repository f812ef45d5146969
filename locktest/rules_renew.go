package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenurelock/tenure/driver"
)

var renewRules = []Rule{
	{Name: "renew/extends", Says: "A grant that is renewed is kept, for as long as it is renewed.", check: checkRenewExtends},
	{Name: "renew/released", Says: "Renewing after the release says ErrNotOurs, and does not take the name again.", check: checkRenewAfterRelease},
	{Name: "renew/never", Says: "Renewing what was never held says ErrNotOurs, and does not create it.", check: checkRenewOfNothing},
	{Name: "renew/expired", Says: "Renewing what ran out and was passed on says ErrNotOurs.", needs: needs{promises: driver.StalledHolderFreed}, check: checkRenewAfterExpiry},
	{Name: "renew/batch", Says: "In a batch of renewals each has its own answer.", check: checkRenewBatch},
	{Name: "renew/context", Says: "Renew answers soon after its context ends.", check: checkRenewContext},
}

func checkRenewExtends(t *trial) {
	name := t.name("x")
	a, b := t.brief(), t.open()
	held := a.take(name, lasting(t.TTL))
	end := time.Now().Add(3 * t.TTL)
	for time.Now().Before(end) {
		for next := time.Now().Add(t.TTL / 4); time.Now().Before(next); t.pause(t.TTL / 32) {
			if c := b.try(name); c.err == nil && t.trusted(held) {
				t.failf("the name was granted to another session while it was renewed")
			}
		}
		proof, err := held.renew()
		if err != nil && !t.Bubble && !t.trusted(held) {
			held = t.again(a, b, held) // this machine stood still for longer than the TTL
			end = time.Now().Add(3 * t.TTL)
			continue
		}
		t.no(err, "renew in time")
		held.grant.Proof = proof
	}
	held.releases()
}

// trusted says whether a claim's last proof still holds.
func (t *trial) trusted(c *claim) bool {
	return driver.Now().Before(c.grant.Proof.Sent.Add(span(c.grant.Proof.Valid)))
}

// again takes a name anew that was lost to a pause of the whole machine.
func (t *trial) again(a, b *session, lost *claim) *claim {
	t.no(lost.abandon(), "abandon what ran out")
	return a.takeSoon(t.long()+t.Prompt, lost.name, lasting(t.TTL))
}

func checkRenewAfterRelease(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	c := a.take(name)
	c.releases()
	_, err := c.renew()
	t.want(errors.Is(err, driver.ErrNotOurs), "renewing after the release must say ErrNotOurs, but said: %v", err)
	next := b.take(name)
	_, err = c.renew()
	t.want(errors.Is(err, driver.ErrNotOurs), "renewing after somebody else was granted must say ErrNotOurs, but said: %v", err)
	next.stays(a, "the holder before renewed it")
}

func checkRenewOfNothing(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	c := a.claim(name)
	_, err := c.renew()
	t.want(errors.Is(err, driver.ErrNotOurs), "renewing what was never held must say ErrNotOurs, but said: %v", err)
	b.take(name)
}

func checkRenewAfterExpiry(t *trial) {
	name := t.name("x")
	a, b := t.brief(), t.open()
	gone := a.take(name, lasting(t.TTL))
	next := b.takeSoon(t.TTL+t.Prompt, name)
	_, err := gone.renew()
	t.want(errors.Is(err, driver.ErrNotOurs), "renewing what was passed on must say ErrNotOurs, but said: %v", err)
	next.stays(a, "the holder before renewed it")
	next.releases()
	_, err = gone.renew()
	t.want(errors.Is(err, driver.ErrNotOurs), "renewing after another one held and released must say ErrNotOurs, but said: %v", err)
	b.take(name).releases()
}

func checkRenewBatch(t *trial) {
	const many = 240
	a, b := t.open(), t.open()
	batch := make([]driver.Renewal, 0, many)
	ours := make([]bool, 0, many)
	for i := range many {
		c := a.claim(t.name(fmt.Sprint(i)))
		switch i % 7 {
		case 3: // released
			c = a.take(c.name)
			c.releases()
		case 5: // another's
			b.take(c.name)
		case 6: // never held
		default:
			c = a.take(c.name)
		}
		batch = append(batch, driver.Renewal{Ref: c.req.Ref, Terms: c.req.Terms})
		ours = append(ours, i%7 != 3 && i%7 != 5 && i%7 != 6)
	}
	ctx, cancel := t.bounded()
	defer cancel()
	before := driver.Now()
	a.Renew(ctx, batch)
	for i, r := range batch {
		if !ours[i] {
			t.want(errors.Is(r.Err, driver.ErrNotOurs), "renewal %d of a batch is not ours, but was answered %v", i, r.Err)
			continue
		}
		t.no(r.Err, "renewal %d of a batch of %d, which is ours", i, many)
		t.want(!r.Proof.Sent.Before(before), "renewal %d of a batch has no new proof", i)
	}
}

func checkRenewContext(t *trial) {
	a, b := t.open(), t.open()
	c := a.take(t.name("x"))
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	batch := []driver.Renewal{{Ref: c.req.Ref, Terms: c.req.Terms}}
	t.want(comes(t.start(func() { a.Renew(ctx, batch) }), t.Prompt), "Renew did not return within %v though its context was over", t.Prompt)
	t.want(!errors.Is(batch[0].Err, driver.ErrNotOurs), "a renewal whose context was over says ErrNotOurs of what is ours")
	c.stays(b, "a renewal was cancelled")
}
