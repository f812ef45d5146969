package session

import (
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// TestH69StuckHolderOfATriedName: a name for which there is no room to wait is tried again and again. Its holder, if it is
// stuck in the middle of a message, is ended all the same, though nobody waits behind it in the server.
func TestH69StuckHolderOfATriedName(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, third, stop := look(t, url), start(t, url, long), stopInMidMessage(t, url, "x")
	s := start(t, url, ttl(brief), func(o *Options) { o.Waits = 1 })
	h := third.take(t, "busy")
	w := s.caller(t, "busy").waits(t.Context()) // it takes all the room
	stop()
	stopped := time.Now()
	var c *caller
	until(t, 4*brief+prompt, "a stuck holder of a name that is tried is ended", func() bool {
		if v.queue("x") != 0 {
			t.Fatal("the name is waited for: the test proves nothing")
		}
		c = s.caller(t, "x")
		c.req.Wait = true
		if c.start(t.Context()).ends(prompt); c.err != nil && kindOf(c.err) != "held" {
			t.Fatalf("a try said: %v", c.err)
		}
		return c.err == nil
	})
	if took := time.Since(stopped); took < brief*3/4 {
		t.Errorf("a holder was ended %v after its last word, with a TTL of %v", took, brief)
	}
	c.keeps()
	c.releases()
	h.releases()
	w.got(prompt).releases()
}

// TestIdleHolderIsNotStuck: a holder that is idle is left alone, however long its name is tried: it is for the server's timeout
// to say that it is over, and this one has none.
func TestIdleHolderIsNotStuck(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	third, idle := start(t, url, long), look(t, url)
	s := start(t, url, ttl(brief), func(o *Options) { o.Waits = 1 })
	h := third.take(t, "busy")
	w := s.caller(t, "busy").waits(t.Context()) // it takes all the room
	k, err := lockOf(s.caller(t, "x").req.Key, driver.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	idle.do("set application_name = '" + applicationName(brief/20, third.info.Session, 99) + "'")
	idle.count("select count(*) from pg_advisory_lock($1::bigint)", k.bits)
	for end := time.Now().Add(2 * brief); time.Now().Before(end); {
		c := s.caller(t, "x")
		c.req.Wait = true
		if c.start(t.Context()).ends(prompt); kindOf(c.err) != "held" {
			t.Fatalf("a try of a name that is held said: %v", c.err)
		}
	}
	if idle.holders("x") != 1 {
		t.Error("an idle holder was ended")
	}
	h.releases()
	w.got(prompt).releases()
}
