package locktest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tenurelock/tenure/driver"
)

var exclusionRules = []Rule{
	{Name: "exclusion/sessions", Says: "Two sessions never hold one name at once.", check: checkSessionsExclude},
	{Name: "exclusion/twins", Says: "Two names with one key exclude each other.", needs: needs{twins: true}, check: checkTwins},
	{Name: "exclusion/race", Says: "Of many who ask at the same moment, one is granted.", check: checkRace},
	{Name: "exclusion/try", Says: "Who only tries is answered at once, also when the name is held.", check: checkTryIsQuick},
}

func checkSessionsExclude(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	first := a.take(name)
	b.refused(name)
	b.refused(name)
	first.releases()
	second := b.take(name)
	a.refused(name)
	second.releases()
}

func checkTwins(t *trial) {
	a, b := t.open(), t.open()
	for _, twins := range t.Twins {
		key0, err := a.Key(twins[0])
		t.no(err, "the key of %q", twins[0])
		key1, err := a.Key(twins[1])
		t.no(err, "the key of %q", twins[1])
		t.want(key0 == key1, "%q has the key %q and %q has %q: they exclude each other, so Key must say so", twins[0], key0, twins[1], key1)
		held := a.take(twins[0])
		b.refused(twins[1])
		held.releases()
	}
}

func checkRace(t *trial) {
	const sessions, rounds = 6, 10
	var opened []*session // one asker each: inside a session the root package keeps callers apart
	for range sessions {
		opened = append(opened, t.open())
	}
	for round := range rounds {
		name := t.name(fmt.Sprint(round % 3))
		var granted atomic.Int32
		var claims []*claim
		begin := make(chan struct{})
		for _, s := range opened {
			c := s.claim(name)
			claims = append(claims, c)
			t.start(func() {
				defer close(c.done)
				<-begin
				ctx, cancel := t.bounded()
				defer cancel()
				if c.ask(ctx); c.err == nil {
					granted.Add(1)
				}
			})
		}
		close(begin)
		for _, c := range claims {
			if err := c.ends(t.Prompt, "it was asked"); err != nil {
				t.want(errors.As(err, new(*driver.HeldError)), "a refusal must be a *driver.HeldError, but was: %v", err)
			}
		}
		t.want(granted.Load() == 1, "%d of %d askers were granted one name", granted.Load(), len(claims))
		for _, c := range claims {
			if c.err == nil {
				c.releases()
			}
		}
	}
}

func checkTryIsQuick(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	a.take(name)
	began := time.Now()
	b.refused(name)
	t.want(time.Since(began) < t.Prompt, "the refusal took %v", time.Since(began))
}
