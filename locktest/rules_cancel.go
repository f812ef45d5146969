package locktest

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tenurelock/tenure/driver"
)

var cancelRules = []Rule{
	{Name: "cancel/prompt", Says: "A waiter returns soon after its context ends, by cancelling or by its deadline.", check: checkCancelIsPrompt},
	{Name: "cancel/ghost", Says: "A waiter that gave up is out of the queue, and strands nobody.", check: checkNoGhost},
	{Name: "cancel/middle", Says: "A waiter that gives up in the middle of the queue does not disturb the others.", check: checkCancelInTheMiddle},
	{Name: "cancel/race", Says: "A grant in the instant of cancelling is returned or given back, never kept.", check: checkGrantBesideCancel},
	{Name: "cancel/before", Says: "A call whose context is over before it begins takes nothing.", check: checkCancelledBefore},
}

func checkCancelIsPrompt(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	a.take(name)
	ctx, cancel := context.WithCancel(t.ctx)
	waiter := b.wait(ctx, name)
	cancel()
	t.want(waiter.ends(t.Prompt, "its context was cancelled") != nil, "a name that is held was granted to a waiter that was cancelled")
	waiter.settle()

	ctx, cancel = context.WithTimeout(t.ctx, 20*t.poll())
	defer cancel()
	late := b.claim(name)
	late.req.Wait = true
	t.start(func() {
		defer close(late.done)
		late.ask(ctx)
	})
	t.want(late.ends(20*t.poll()+t.Prompt, "its deadline") != nil, "a name that is held was granted to a waiter whose deadline had passed")
}

func checkNoGhost(t *trial) {
	name := t.name("x")
	a, b, c := t.open(), t.open(), t.open()
	for range 3 {
		holder := a.take(name)
		ctx, cancel := context.WithCancel(t.ctx)
		gone := b.wait(ctx, name)
		cancel()
		gone.ends(t.Prompt, "its context was cancelled")
		gone.settle()
		holder.releases()
		c.takeSoon(t.Prompt, name).releases()
	}
}

func checkCancelInTheMiddle(t *trial) {
	name := t.name("x")
	a := t.open()
	holder := a.take(name)
	first := t.open().wait(t.ctx, name)
	ctx, cancel := context.WithCancel(t.ctx)
	gone := t.open().wait(ctx, name)
	last := t.open().wait(t.ctx, name)
	cancel()
	gone.ends(t.Prompt, "its context was cancelled")
	gone.settle()
	t.want(!first.over() && !last.over(), "a waiter was granted a held name when another one gave up")
	holder.releases()
	t.want(t.until(t.Prompt, func() bool { return first.over() || last.over() }), "no waiter was granted within %v after another one had given up", t.Prompt)
	next, other := first, last
	if !first.over() {
		next, other = last, first
	}
	next.got(t.Prompt).releases()
	other.got(t.Prompt).releases()
	a.take(name)
}

// checkGrantBesideCancel lets the release and the cancelling meet in every order, again and again.
func checkGrantBesideCancel(t *trial) {
	name := t.name("x")
	a, b, c := t.open(), t.open(), t.open()
	for round := range 120 {
		holder := a.take(name)
		ctx, cancel := context.WithCancel(t.ctx)
		waiter := b.wait(ctx, name)
		released := make(chan error, 1)
		switch round % 6 {
		case 0:
			t.start(func() { released <- holder.release() })
			cancel()
		case 1:
			released <- holder.release()
			cancel()
		case 2:
			t.start(cancel)
			released <- holder.release()
		default: // both at once, on two processors: the rarest is tried most
			var ready atomic.Int32
			meet := func() {
				for ready.Add(1); ready.Load() < 2; {
					runtime.Gosched()
				}
			}
			t.start(func() { meet(); released <- holder.release() })
			meet()
			cancel()
		}
		t.no(<-released, "release while a waiter is cancelled")
		waiter.ends(t.Prompt, "its context was cancelled")
		waiter.settle()
		began := time.Now()
		next := c.takeSoon(t.Prompt, name)
		t.want(time.Since(began) < t.Prompt, "the name was stranded for %v", time.Since(began))
		next.releases()
		cancel()
	}
}

func checkCancelledBefore(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	for _, wait := range []bool{false, true} {
		c := a.claim(name)
		c.req.Wait = wait
		t.start(func() {
			defer close(c.done)
			c.ask(ctx)
		})
		err := c.ends(t.Prompt, "a context that was over from the start")
		t.want(err == nil || !errors.As(err, new(*driver.HeldError)), "a free name is said to be held: %v", err)
		c.settle()
		b.takeSoon(t.Prompt, name).releases()
	}
}
