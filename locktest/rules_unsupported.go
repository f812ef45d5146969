package locktest

import (
	"errors"
	"time"

	"github.com/tenurelock/tenure/driver"
)

var unsupportedRules = []Rule{
	{
		Name: "unsupported/refused", Says: "What a store cannot do it refuses for good, with ErrUnsupported, and grants nothing else instead.",
		needs: needs{lacks: driver.CanShare | driver.CanSlots | driver.CanRemember}, check: checkUnsupported,
	},
}

func checkUnsupported(t *trial) {
	a, b := t.open(), t.open()
	for _, ask := range []struct {
		feature driver.Features
		what    string
		option  option
	}{
		{driver.CanShare, "a shared grant", shared},
		{driver.CanSlots, "a slot", t.slotsOf(a, t.name("x"), 2)},
		{driver.CanRemember, "OncePer", oncePer(time.Hour)},
		{driver.CanRemember, "Gap", gap(time.Hour)},
	} {
		if t.info.Features.Has(ask.feature) {
			continue
		}
		c := a.try(t.name("x"), ask.option)
		t.want(c.err != nil, "%s was granted by a store that says that it cannot do it", ask.what)
		t.want(errors.Is(c.err, driver.ErrUnsupported) && isFault(c.err, driver.Lasting),
			"%s must be refused with a lasting fault that is ErrUnsupported, but was: %v", ask.what, c.err)
		b.take(t.name("x")).releases()
	}
}
