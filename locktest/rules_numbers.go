package locktest

import (
	"fmt"

	"github.com/tenurelock/tenure/driver"
)

var numberRules = []Rule{
	{Name: "numbers/range", Says: "A grant's number is between 1 and MaxNumber.", check: checkNumberRange},
	{Name: "numbers/release", Says: "Numbers of a name rise from grant to grant, whichever session is granted.", check: checkNumbersRise},
	{Name: "numbers/waiters", Says: "A waiter's number is higher than that of the holder before it.", check: checkNumbersOfWaiters},
	{Name: "numbers/expiry", Says: "Numbers rise over a holder that went without releasing.", check: checkNumbersOverExpiry},
	{Name: "numbers/reopen", Says: "Numbers rise when all sessions are closed and opened anew.", check: checkNumbersOverReopening},
	{Name: "numbers/abandon", Says: "Numbers rise over a grant that was abandoned.", check: checkNumbersOverAbandon},
}

func checkNumberRange(t *trial) {
	a := t.open()
	for i := range 5 {
		c := a.take(t.name(fmt.Sprint(i)))
		t.want(c.grant.Number >= 1 && c.grant.Number <= driver.MaxNumber,
			"the number %d is not between 1 and %d", c.grant.Number, int64(driver.MaxNumber))
		c.releases()
	}
}

// rising fails unless each number that it is given is above the last.
func (t *trial) rising() func(number int64) {
	var last int64
	return func(number int64) {
		t.want(number > last, "a grant was numbered %d after one with %d", number, last)
		last = number
	}
}

func checkNumbersRise(t *trial) {
	name, rises := t.name("x"), t.rising()
	sessions := []*session{t.open(), t.open(), t.open()}
	for i := range 40 {
		c := sessions[i*i%3].take(name)
		rises(c.grant.Number)
		c.releases()
	}
}

func checkNumbersOfWaiters(t *trial) {
	name, rises := t.name("x"), t.rising()
	sessions := []*session{t.open(), t.open()}
	holder := sessions[0].take(name)
	rises(holder.grant.Number)
	for i := range 8 {
		waiter := sessions[(i+1)%2].wait(t.ctx, name)
		holder.releases()
		holder = waiter.got(t.Prompt)
		rises(holder.grant.Number)
	}
	holder.releases()
	rises(sessions[0].take(name).grant.Number)
}

func checkNumbersOverExpiry(t *trial) {
	name, rises := t.name("x"), t.rising()
	other := t.open()
	for range 3 {
		gone := t.brief()
		c := gone.take(name, lasting(t.TTL))
		rises(c.grant.Number)
		if !t.info.Guarantees.Promises.Has(driver.StalledHolderFreed) {
			t.no(gone.Close(t.ctx), "close the holder's session")
		}
		next := other.takeSoon(t.TTL+t.Freed+t.Prompt, name)
		rises(next.grant.Number)
		next.releases()
	}
}

func checkNumbersOverReopening(t *trial) {
	name, rises := t.name("x"), t.rising()
	for range 3 {
		s := t.open()
		for range 3 {
			c := s.take(name)
			rises(c.grant.Number)
			c.releases()
		}
		t.closeAll()
	}
}

// closeAll closes every session that there is.
func (t *trial) closeAll() {
	ctx, cancel := t.bounded()
	defer cancel()
	for _, store := range t.opened {
		t.no(store.Close(ctx), "close a session")
	}
}

func checkNumbersOverAbandon(t *trial) {
	name, rises := t.name("x"), t.rising()
	a, b := t.open(), t.open()
	for range 5 {
		c := a.take(name)
		rises(c.grant.Number)
		t.no(c.abandon(), "abandon a grant")
		c = b.take(name)
		rises(c.grant.Number)
		c.releases()
	}
}
