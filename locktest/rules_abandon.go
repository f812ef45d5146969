package locktest

import (
	"fmt"

	"github.com/tenurelock/tenure/driver"
)

var abandonRules = []Rule{
	{Name: "abandon/frees", Says: "Abandon frees what was granted, and passes it on.", check: checkAbandonFrees},
	{Name: "abandon/again", Says: "Abandon may be called again, and for acquisitions of which the store never heard.", check: checkAbandonAgain},
	{Name: "abandon/waiter", Says: "Abandon takes a waiter out of the queue, and its call returns.", check: checkAbandonWaiter},
	{Name: "abandon/batch", Says: "Abandon cleans up all of a batch, whatever else is in it.", check: checkAbandonBatch},
}

func checkAbandonFrees(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	c := a.take(name)
	t.no(c.abandon(), "abandon a grant")
	c.isNotOurs("what was abandoned")
	b.take(name).releases()

	c = a.take(name)
	waiter := b.wait(t.ctx, name)
	t.no(c.abandon(), "abandon a grant for which somebody waits")
	waiter.got(t.Prompt)
}

func checkAbandonAgain(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	never := a.claim(name)
	t.no(never.abandon(), "abandon an acquisition of which the store never heard, of a free name")
	held := b.take(name)
	t.no(never.abandon(), "abandon an acquisition of which the store never heard, of a held name")
	held.stays(a, "somebody else's acquisition was abandoned")
	for range 3 {
		t.no(held.abandon(), "abandon again")
	}
	a.take(name)
}

func checkAbandonWaiter(t *trial) {
	name := t.name("x")
	a, b, c := t.open(), t.open(), t.open()
	holder := a.take(name)
	gone := b.claim(name)
	gone.req.Wait = true
	t.start(func() {
		defer close(gone.done)
		gone.ask(t.ctx)
	})
	t.until(t.Prompt, func() bool { return gone.over() || gone.waiting() })
	t.no(gone.abandon(), "abandon a waiter")
	err := gone.ends(t.Prompt, "it was abandoned")
	t.want(err != nil, "an abandoned waiter was granted a name that was held")
	holder.releases()
	c.takeSoon(t.Prompt, name).releases()
}

func checkAbandonBatch(t *trial) {
	const many = 60
	a, b := t.open(), t.open()
	var batch []driver.Removal
	for i := range many {
		c := a.claim(t.name(fmt.Sprint(i)))
		switch i % 3 {
		case 0:
			c = a.take(c.name)
		case 1:
			b.take(c.name)
		}
		batch = append(batch, driver.Removal{Ref: c.req.Ref})
	}
	ctx, cancel := t.bounded()
	defer cancel()
	a.Abandon(ctx, batch)
	for i, r := range batch {
		t.no(r.Err, "clean-up %d of a batch of %d", i, many)
		if i%3 == 1 {
			a.refused(r.Name)
		} else {
			b.take(r.Name)
		}
	}
}
