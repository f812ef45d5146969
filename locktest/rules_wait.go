package locktest

import (
	"fmt"

	"github.com/tenurelock/tenure/driver"
)

var waitRules = []Rule{
	{Name: "wait/release", Says: "A waiter is granted the name as soon as it is released.", check: checkWaiterGranted},
	{Name: "wait/queued", Says: "A waiter hears that it waits, and behind whom.", check: checkQueuedNamesHolder},
	{Name: "wait/order", Says: "Waiters of different sessions are granted in the order of their asking.", needs: needs{promises: driver.FirstInFirstOut}, check: checkWaitersInOrder},
	{Name: "wait/barging", Says: "Nobody who only tries passes one who waits.", needs: needs{promises: driver.FirstInFirstOut}, check: checkNobodyBarges},
	{Name: "wait/one", Says: "One waiter at a time is granted, however many wait.", check: checkOneWaiterAtATime},
	{Name: "wait/free", Says: "Who would wait is granted at once where nobody is in the way.", check: checkWaitOnFreeName},
}

func checkWaiterGranted(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	for range 3 {
		holder := a.take(name)
		waiter := b.wait(t.ctx, name)
		t.want(!waiter.over(), "a waiter returned while the name was held: %v", waiter.err)
		holder.releases()
		waiter.got(t.Prompt)
		a.refused(name)
		waiter.releases()
	}
}

func checkQueuedNamesHolder(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	holder := a.take(name, describedAs("the holder"))
	told := b.refused(name).Holder
	waiter := b.wait(t.ctx, name)
	behind := waiter.watch.holder()
	t.want(behind != nil || told == driver.Holder{}, "the waiter does not hear behind whom it waits; one who tries is told %v", told)
	if behind != nil {
		t.want(behind.Note == told.Note && behind.PID == told.PID && behind.Session == told.Session,
			"the waiter hears that it waits behind %v; one who tries is told %v", *behind, told)
	}
	holder.releases()
	waiter.got(t.Prompt)
}

func checkWaitersInOrder(t *trial) {
	name := t.name("x")
	holder := t.open().take(name)
	var waiters []*claim
	for range 6 {
		waiters = append(waiters, t.open().wait(t.ctx, name))
	}
	for i, next := range waiters {
		holder.releases()
		next.got(t.Prompt)
		for j, later := range waiters[i+1:] {
			t.want(!later.over(), "waiter %d was granted beside or before waiter %d", i+1+j+1, i+1)
		}
		holder = next
	}
}

func checkNobodyBarges(t *trial) {
	name := t.name("x")
	a, b, c := t.open(), t.open(), t.open()
	for range 5 {
		holder := a.take(name)
		waiter := b.wait(t.ctx, name)
		c.refused(name)
		holder.releases()
		for !waiter.over() {
			passing := c.try(name)
			t.want(passing.err != nil, "one who tried was granted a name for which another one waited")
			t.pause(t.poll() / 10)
			t.want(driver.Now().Sub(waiter.began) < t.Prompt, "a waiter was not granted within %v", t.Prompt)
		}
		waiter.got(t.Prompt).releases()
	}
}

func checkOneWaiterAtATime(t *trial) {
	name := t.name("x")
	holder := t.open().take(name)
	waiting := make(map[*claim]bool)
	for range 5 {
		waiting[t.open().wait(t.ctx, name)] = true
	}
	for len(waiting) > 0 {
		holder.releases()
		holder = nil
		granted := func() int {
			n := 0
			for w := range waiting {
				if w.over() {
					n, holder = n+1, w
				}
			}
			return n
		}
		t.want(t.until(t.Prompt, func() bool { return granted() > 0 }), "no waiter was granted within %v", t.Prompt)
		t.no(holder.err, "a waiter")
		t.pause(2 * t.poll())
		t.want(granted() == 1, "%d waiters were granted one name", granted())
		delete(waiting, holder)
	}
}

func checkWaitOnFreeName(t *trial) {
	a, b := t.open(), t.open()
	for i := range 3 {
		c := a.claim(t.name(fmt.Sprint(i)))
		c.req.Wait = true
		t.start(func() {
			defer close(c.done)
			c.ask(t.ctx)
		})
		c.got(t.Prompt)
		b.refused(c.name)
		c.releases()
	}
}
