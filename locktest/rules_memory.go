package locktest

import (
	"errors"
	"fmt"
	"time"

	"github.com/tenurelock/tenure/driver"
)

var remembering = needs{features: driver.CanRemember}

var memoryRules = []Rule{
	{Name: "once/period", Says: "OncePer refuses what was granted in this period, after its release and from other sessions too.", needs: remembering, check: checkOncePerPeriod},
	{Name: "once/next", Says: "OncePer grants again in the next period, which begins on the store's clock, counted from 1970.", needs: remembering, check: checkOnceInNextPeriod},
	{Name: "once/ordinary", Says: "An ordinary grant is neither refused by a memory nor remembered.", needs: remembering, check: checkOrdinaryNotRemembered},
	{Name: "gap/kept", Says: "Gap refuses until that long after the last remembered grant, and then grants.", needs: remembering, check: checkGap},
	{Name: "once/waiter", Says: "A waiter with OncePer is refused when the holder before it has done the work.", needs: remembering, check: checkOnceForWaiter},
}

// period is one that does not end while a rule that begins now runs, unless that waits for it.
func (t *trial) period() time.Duration {
	if t.Bubble {
		return time.Hour
	}
	return 24 * time.Hour
}

// done must be refused since it was done in this period.
func (s *session) done(name string, options ...option) *driver.DoneError {
	c := s.try(name, options...)
	s.t.want(c.err != nil, "%q was granted twice in one period", name)
	var done *driver.DoneError
	s.t.want(errors.As(c.err, &done), "the refusal must be a *driver.DoneError, but was: %v", c.err)
	return done
}

func checkOncePerPeriod(t *trial) {
	name, once := t.name("x"), oncePer(t.period())
	a, b := t.open(), t.open()
	for range 2 { // again, should midnight pass in between
		c := a.try(name, once)
		t.no(c.err, "acquire once a period what was never granted")
		c.releases()
		for _, s := range []*session{b, a, t.open()} {
			done := s.done(name, once)
			t.want(!done.Last.IsZero() && done.Last.Before(done.Next) && done.Next.Sub(done.Last) <= t.period(),
				"the refusal says last %v, next %v, with a period of %v", done.Last, done.Next, t.period())
		}
		name += "y"
	}
	ordinary := b.take(name[:len(name)-2] + "yy")
	ordinary.releases()
}

func checkOnceInNextPeriod(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	period := 2 * time.Second
	if t.Bubble {
		period = time.Hour
	}
	// The first one comes late in its period, so that a period counted from then would end later.
	next := t.endOfPeriod(a, b, period)
	t.pause(time.Until(next) + period*6/10)
	c := a.take(name, oncePer(period))
	c.releases()
	again := b.try(name, oncePer(period))
	var done *driver.DoneError
	if !errors.As(again.err, &done) {
		t.want(!t.Bubble && again.err == nil && time.Since(next) > 2*period, "granted twice in one period: %v", again.err)
		return // this machine stood still over the end of the period
	}
	t.want(done.Next.Sub(done.Last) < period*6/10, "a period of %v ends %v after a grant late in it: it must be counted from 1970", period, done.Next.Sub(done.Last))
	t.want(done.Next.UnixNano()%int64(period) == 0, "the period of %v ends at %v, which is no multiple of it since 1970", period, done.Next)
	t.pause(time.Until(done.Next) - t.poll())
	b.takeSoon(t.Prompt, name, oncePer(period)).releases()
}

// endOfPeriod is when the present period ends on the store's clock.
func (t *trial) endOfPeriod(a, b *session, period time.Duration) time.Time {
	for i := range 3 {
		probe := t.name(fmt.Sprintf("probe/%d", i))
		a.take(probe, oncePer(period)).releases()
		again := b.try(probe, oncePer(period))
		var done *driver.DoneError
		if errors.As(again.err, &done) {
			return done.Next
		}
		t.no(again.err, "acquire %q in the next period", probe) // it has just begun
		again.releases()
	}
	t.failf("granted twice in each of three periods")
	return time.Time{}
}

func checkOrdinaryNotRemembered(t *trial) {
	name, once := t.name("x"), oncePer(t.period())
	a, b := t.open(), t.open()
	a.take(name).releases()
	t.want(b.inspect(name).LastRun.IsZero(), "an ordinary grant was remembered")
	b.take(name, once).releases()
	first := b.inspect(name).LastRun
	t.want(!first.IsZero(), "a grant with OncePer was not remembered")
	t.pause(5 * t.poll())
	a.take(name).releases()
	b.take(name).releases()
	t.want(b.inspect(name).LastRun.Equal(first), "an ordinary grant changed when the name last ran")
	a.done(name, once)
}

func checkGap(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	length := t.TTL
	c := a.take(name, gap(length), describedAs("the last one"))
	granted := time.Now()
	c.releases()
	refusal := b.try(name, gap(length))
	var held *driver.HeldError
	if !errors.As(refusal.err, &held) {
		t.want(time.Since(granted) >= length, "a gap of %v was not kept: %v after it was granted, the answer was %v", length, time.Since(granted), refusal.err)
		return
	}
	t.want(held.Gap && held.RetryAfter > 0 && held.RetryAfter <= length, "the refusal in a gap of %v says Gap %v, RetryAfter %v", length, held.Gap, held.RetryAfter)
	t.want(held.Holder.Note == "the last one", "the refusal in a gap names %v, not the last holder", held.Holder)
	a.take(name).releases() // an ordinary one minds no gap
	b.takeSoon(length+t.Prompt, name, gap(length)).releases()
	t.want(time.Since(granted) > length*9/10, "a gap of %v was over after %v", length, time.Since(granted))
}

func checkOnceForWaiter(t *trial) {
	name, once := t.name("x"), oncePer(t.period())
	a, b := t.open(), t.open()
	holder := a.take(name, once)
	waiter := b.claim(name, once)
	waiter.req.Wait = true
	t.start(func() {
		defer close(waiter.done)
		waiter.askUntil(t.ctx)
	})
	t.until(t.Prompt, func() bool { return waiter.over() || waiter.waiting() })
	holder.releases()
	err := waiter.ends(t.Prompt, "the work was done")
	t.want(errors.As(err, new(*driver.DoneError)), "a waiter must hear that the work was done in this period, but got: %v", err)
}

func (c *claim) waiting() bool {
	select {
	case <-c.watch.waits:
		return true
	default:
		return false
	}
}
