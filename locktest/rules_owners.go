package locktest

import (
	"errors"

	"github.com/tenurelock/tenure/driver"
)

var ownerRules = []Rule{
	{Name: "owners/info", Says: "Sessions have ids of their own, and what a session says of itself does not change.", check: checkSessionIDs},
	{Name: "owners/guarantees", Says: "A store says in every cell what its word is worth.", check: checkGuaranteesSaid},
	{Name: "owners/acq", Says: "Owners are compared whole: acquisition 1 is not 12.", check: checkWholeOwner},
	{Name: "owners/session", Says: "Owners are compared whole: the same acquisition number of another session is another owner.", check: checkOwnersSession},
	{Name: "owners/never", Says: "Releasing what was never held is ErrNotOurs.", check: checkReleaseOfNothing},
	{Name: "owners/twice", Says: "Releasing twice is ErrNotOurs.", check: checkReleaseTwice},
	{Name: "owners/late", Says: "A release that comes late does not touch the next holder's grant.", check: checkLateRelease},
	{Name: "owners/late-abandon", Says: "A clean-up that comes late does not touch the next holder's grant.", check: checkLateAbandon},
}

func checkSessionIDs(t *trial) {
	seen := make(map[string]bool)
	for range 4 {
		s := t.open()
		info := s.Info()
		t.want(info.Session != "" && info.Kind != "" && info.TTL > 0, "Info leaves out the session, the kind or the TTL: %+v", info)
		t.want(!seen[info.Session], "two sessions have the id %q", info.Session)
		seen[info.Session] = true
		s.take(t.name(info.Session)).releases()
		again := s.Info()
		t.want(again.Session == info.Session && again.TTL == info.TTL && again.Features == info.Features,
			"Info changed from %+v to %+v", info, again)
		first, second := s.Attached(), s.Attached()
		t.want(first != nil && first == second, "Attached does not give one Local for the session's life")
	}
}

func checkGuaranteesSaid(t *trial) {
	g := t.info.Guarantees
	for cell, said := range map[string]string{
		"KilledHolder": g.KilledHolder, "StalledHolder": g.StalledHolder, "Order": g.Order,
		"PerHolder": g.PerHolder, "PerWaiter": g.PerWaiter,
		"Crash.Lock": g.Crash.Lock, "Crash.Token": g.Crash.Token, "Restart.Lock": g.Restart.Lock, "Restart.Token": g.Restart.Token,
		"Failover.Lock": g.Failover.Lock, "Failover.Token": g.Failover.Token,
		"ClockStep.Lock": g.ClockStep.Lock, "ClockStep.Token": g.ClockStep.Token,
	} {
		t.want(said != "", "Guarantees.%s says nothing", cell)
	}
	t.want(len(g.Limits) > 0, "Guarantees.Limits says nothing: every store has limits")
}

// stays fails unless the claim still holds its name.
func (c *claim) stays(other *session, after string) {
	c.s.t.no(c.renewError(), "renew %q after %s", c.name, after)
	other.refused(c.name)
}

func (c *claim) renewError() error {
	_, err := c.renew()
	return err
}

// isNotOurs fails unless the store says that the owner does not have the name, however it is asked.
func (c *claim) isNotOurs(when string) {
	t := c.s.t
	_, err := c.renew()
	t.want(errors.Is(err, driver.ErrNotOurs), "renewing %s must say ErrNotOurs, but said: %v", when, err)
	err = c.release()
	t.want(errors.Is(err, driver.ErrNotOurs), "releasing %s must say ErrNotOurs, but said: %v", when, err)
}

func checkWholeOwner(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	for _, pair := range [][2]uint64{{12, 1}, {1, 12}, {112, 12}, {1 << 40, 1<<40 + 1}, {255, 511}} {
		held := a.take(name, numbered(pair[0]))
		stranger := a.claim(name, numbered(pair[1]))
		stranger.isNotOurs("under another acquisition number")
		t.no(stranger.abandon(), "abandon another acquisition number")
		held.stays(b, "another acquisition number was released and abandoned")
		held.releases()
	}
}

func checkOwnersSession(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	held := a.take(name, numbered(7))
	stranger := b.claim(name, numbered(7))
	stranger.isNotOurs("from another session")
	t.no(stranger.abandon(), "abandon from another session")
	held.stays(b, "another session released and abandoned it")
	held.releases()
}

func checkReleaseOfNothing(t *trial) {
	a, b := t.open(), t.open()
	err := a.claim(t.name("free")).release()
	t.want(errors.Is(err, driver.ErrNotOurs), "releasing a name that nobody ever held must say ErrNotOurs, but said: %v", err)
	held := b.take(t.name("held"))
	err = a.claim(t.name("held")).release()
	t.want(errors.Is(err, driver.ErrNotOurs), "releasing another's name must say ErrNotOurs, but said: %v", err)
	held.stays(a, "somebody else released it")
}

func checkReleaseTwice(t *trial) {
	a := t.open()
	c := a.take(t.name("x"))
	c.releases()
	err := c.release()
	t.want(errors.Is(err, driver.ErrNotOurs), "releasing twice must say ErrNotOurs, but said: %v", err)
}

func checkLateRelease(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	old := a.take(name)
	old.releases()
	next := b.take(name)
	err := old.release()
	t.want(errors.Is(err, driver.ErrNotOurs), "a late release must say ErrNotOurs, but said: %v", err)
	next.stays(a, "the holder before released it late")
	next.releases()

	again := a.take(name) // nor one of the same session
	t.want(old.release() != nil, "a late release of an older grant of the same session said nil")
	again.stays(b, "an older grant of the same session was released late")
}

func checkLateAbandon(t *trial) {
	name := t.name("x")
	a, b := t.open(), t.open()
	old := a.take(name)
	old.releases()
	next := b.take(name)
	t.no(old.abandon(), "a late clean-up")
	next.stays(a, "the holder before was cleaned up late")
	next.releases()
	again := a.take(name)
	t.no(old.abandon(), "a late clean-up")
	again.stays(b, "an older grant of the same session was cleaned up late")
}
