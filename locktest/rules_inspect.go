package locktest

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

var inspectRules = []Rule{
	{Name: "inspect/holder", Says: "Inspect tells who holds a name, since when, and under which number.", check: checkInspectHolder},
	{Name: "inspect/refusal", Says: "A refusal tells who holds the name.", check: checkRefusalNamesHolder},
	{Name: "inspect/free", Says: "Inspect tells nobody of a name that is free.", check: checkInspectFree},
	{Name: "inspect/only", Says: "Inspect changes nothing: it neither takes, nor keeps, nor frees a name.", check: checkInspectChangesNothing},
}

// names fails unless a description is that of a claim.
func (t *trial) names(where string, h driver.Holder, c *claim) {
	asked := c.req.Holder
	t.want(h.Host == asked.Host && h.PID == asked.PID && h.Program == asked.Program && h.Note == asked.Note,
		"%s describes the holder as %+v, which asked as %+v", where, h, *asked)
	t.want(!h.Since.IsZero(), "%s does not say since when", where)
	t.want(h.Since.Sub(c.grant.Since).Abs() < time.Second, "%s says since %v of a grant from %v", where, h.Since, c.grant.Since)
}

// isListed waits until others can know all of a claim. A store that lists its leases late does so when they are renewed.
func (c *claim) isListed() {
	t := c.s.t
	if t.info.ListsAfter == 0 {
		return
	}
	c.renews()
	t.want(t.until(t.Prompt, func() bool {
		report, err := c.s.Inspect(t.ctx, c.name)
		return err == nil && len(report.Holders) > 0 && report.Holders[0].Acq != 0
	}), "a claim that was renewed is not listed within %v", t.Prompt)
}

func checkInspectHolder(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	for _, note := range []string{"", "quotes \" and ü\nand lines"} {
		c := a.take(name, describedAs(note))
		c.isListed()
		for _, s := range []*session{a, b} {
			report := s.inspect(name)
			t.want(len(report.Holders) == 1, "Inspect tells %d holders of a name that is held once", len(report.Holders))
			h := report.Holders[0]
			t.names("Inspect", h, c)
			t.want(h.Number == c.grant.Number, "Inspect says number %d of a grant with %d", h.Number, c.grant.Number)
			t.want(h.Session == a.Info().Session && h.Acq == c.req.Acq, "Inspect says owner %s/%d of %s/%d", h.Session, h.Acq, a.Info().Session, c.req.Acq)
		}
		c.releases()
	}
}

func checkRefusalNamesHolder(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	c := a.take(name, describedAs("the one who has it"))
	c.isListed()
	t.names("the refusal", b.refused(name).Holder, c)
}

func checkInspectFree(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	empty := func(when string) {
		report := b.inspect(name)
		t.want(len(report.Holders) == 0 && len(report.Waiters) == 0, "Inspect tells of %v and %v %s", report.Holders, report.Waiters, when)
	}
	empty("before anybody asked")
	a.take(name).releases()
	empty("after the release")
	c := a.take(name)
	t.no(c.abandon(), "abandon")
	empty("after it was abandoned")
}

func checkInspectChangesNothing(t *trial) {
	name := t.name("x")
	a, b := t.brief(), t.open()
	for range 3 {
		a.inspect(name)
		b.inspect(name)
	}
	c := a.take(name, lasting(t.TTL))
	t.pause(t.TTL / 2)
	number := b.inspect(name).Holders
	if t.Bubble || t.trusted(c) {
		t.want(len(number) == 1, "Inspect tells %d holders of a name that is held", len(number))
		c.stays(b, "it was inspected")
	}
	if !t.info.Guarantees.Promises.Has(driver.StalledHolderFreed) {
		c.releases()
		return
	}
	ended := time.Now().Add(t.TTL)
	t.want(t.until(t.TTL+t.Prompt, func() bool { b.inspect(name); a.inspect(name); return b.try(name).err == nil }),
		"a name that is inspected does not run out")
	t.want(time.Since(ended) < t.Prompt, "a name that is inspected runs out late")
}
