package locktest

import (
	"errors"

	"github.com/tenurelock/tenure/driver"
)

var closeRules = []Rule{
	{Name: "close/frees", Says: "Closing a session frees what it held, and nobody else's.", check: checkCloseFrees},
	{Name: "close/waiters", Says: "Closing a session ends its waiters at once, with a lasting fault that is ErrClosed, and they leave the queue.", check: checkCloseEndsWaiters},
	{Name: "close/holders", Says: "Closing a session tells its holders that they lost.", check: checkCloseTellsHolders},
	{Name: "close/first", Says: "Closing a session tells its holders before their names pass on.", check: checkCloseTellsFirst},
	{Name: "close/later", Says: "After Close every call says ErrClosed, and a second Close nothing.", check: checkClosedRefuses},
}

func (s *session) closes() {
	ctx, cancel := s.t.bounded()
	defer cancel()
	s.t.no(s.Close(ctx), "close a session")
}

func checkCloseFrees(t *trial) {
	a, b, c := t.open(), t.open(), t.open()
	terms := lasting(a.long())
	if t.Freed > t.Prompt { // the store lets them run out
		a, terms = t.brief(), lasting(t.TTL)
	}
	a.take(t.name("one"), terms)
	a.take(t.name("two"), terms)
	held := b.take(t.name("other"))
	waiter := b.wait(t.ctx, t.name("two"))
	a.closes()
	c.takeSoon(t.Freed, t.name("one"))
	waiter.got(t.Freed)
	held.stays(c, "another session was closed")
}

func checkCloseEndsWaiters(t *trial) {
	name := t.name("x")
	a, b, c := t.open(), t.open(), t.open()
	holder := a.take(name)
	first, second := b.wait(t.ctx, name), b.wait(t.ctx, name)
	b.closes()
	for _, w := range []*claim{first, second} {
		err := w.ends(t.Prompt, "its session was closed")
		t.want(errors.Is(err, driver.ErrClosed) && isFault(err, driver.Lasting), "a waiter whose session was closed must get a lasting fault that is ErrClosed, but got: %v", err)
	}
	holder.releases()
	c.takeSoon(t.Freed, name)
}

func checkCloseTellsHolders(t *trial) {
	a := t.open()
	c := a.take(t.name("x"))
	select {
	case cause := <-c.watch.lost:
		t.failf("a holder was told that it lost what it holds: %v", cause)
	default:
	}
	a.closes()
	t.want(comes(c.watch.lost, t.Prompt), "a holder did not hear within %v that its session was closed", t.Prompt)
}

// checkCloseTellsFirst dawdles while it is told: nobody may be granted the name meanwhile.
func checkCloseTellsFirst(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	holder := a.claim(name)
	told, mayGoOn := make(chan struct{}), make(chan struct{})
	holder.watch.onLoss = func() { close(told); <-mayGoOn }
	holder.ask(t.ctx)
	t.no(holder.err, "acquire %q, which is free", name)
	waiter := b.wait(t.ctx, name)
	t.start(a.closes)
	t.want(comes(told, t.Prompt), "a holder did not hear within %v that its session was closed", t.Prompt)
	early := comes(waiter.done, t.TTL/4)
	close(mayGoOn)
	t.want(!early, "%q was granted to a waiter before its holder had heard that its session was closed", name)
	waiter.got(t.Freed)
}

func checkClosedRefuses(t *trial) {
	a, b := t.open(), t.open()
	c := a.take(t.name("held"))
	a.closes()
	t.no(a.Close(t.ctx), "close a session again")
	closed := func(call string, err error) {
		t.want(errors.Is(err, driver.ErrClosed) && isFault(err, driver.Lasting), "%s after Close must say a lasting fault that is ErrClosed, but said: %v", call, err)
	}
	closed("Acquire", a.try(t.name("x")).err)
	waiter := a.claim(t.name("x"))
	waiter.req.Wait = true
	t.start(func() {
		defer close(waiter.done)
		waiter.ask(t.ctx)
	})
	closed("Acquire with Wait", waiter.ends(t.Prompt, "the session was closed before"))
	closed("Renew", c.renewError())
	closed("Release", c.release())
	closed("Abandon", c.abandon())
	_, err := a.Inspect(t.ctx, t.name("x"))
	closed("Inspect", err)
	b.take(t.name("x"))
}
