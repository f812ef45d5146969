package proof

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// patience is how long porcupine may look for an order of one name's operations.
const patience = 20 * time.Second

// Check runs all checks that hold for every store that keeps its word. It gives all faults, but not without end.
func Check(h History) error {
	plain := errors.Join(CheckTokens(h), CheckOverlap(h), CheckEnds(h), CheckGuards(h))
	if plain == nil { // otherwise that says it better
		plain = errors.Join(LinearizeTokens(h, patience), LinearizeRegisters(h, patience))
	}
	return brief(plain)
}

// CheckBroken runs the checks that hold even though the store has broken its word, and forgot holders without telling
// them. Two may then trust at once, and a hand-off inside a grant that is long forgotten has a lower token than its
// successor; a guard makes both harmless.
func CheckBroken(h History) error {
	plain := errors.Join(CheckRepeats(h), CheckEnds(h), CheckGuards(h))
	if plain == nil {
		plain = LinearizeRegisters(h, patience)
	}
	return brief(plain)
}

// CheckEnds says which leases were lost although Release said that they were not, and which were told so twice.
func CheckEnds(h History) error {
	var faults []error
	lost := make(map[leaseID]*Op)
	for i := range h {
		if op := &h[i]; op.Verb == Lost {
			if first := lost[op.lease()]; first != nil {
				faults = append(faults, fmt.Errorf("a lease was lost twice:\n\t%v\n\t%v", first, op))
			}
			lost[op.lease()] = op
		}
	}
	for i := range h {
		op := &h[i]
		if op.Verb != Release || !op.Returned() || op.Outcome != OK {
			continue
		}
		if loss := lost[op.lease()]; loss != nil {
			faults = append(faults, fmt.Errorf("a lease was lost, and Release did not say so:\n\t%v\n\t%v", loss, op))
		}
	}
	return errors.Join(faults...)
}

// CheckPunctual says which holders were told of their loss later than slack after their trust had ended, and did not
// begin to release before. Only on a fake clock, where nobody is kept waiting for a processor, is that somebody's fault.
func CheckPunctual(h History, slack time.Duration) error {
	var faults []error
	until, released := deadlines(h), make(map[leaseID]bool)
	for i := range h {
		op := &h[i]
		if op.Verb == Release {
			released[op.lease()] = true // a loss that comes to light now is the release's answer
		}
		end, known := until[op.lease()]
		if known && op.Verb == Lost && !released[op.lease()] && op.Call > end+Instant(slack) {
			faults = append(faults, fmt.Errorf("a holder trusted on for %v:\n\ttrusted until %d\n\t%v",
				time.Duration(op.Call-end), end, op))
		}
	}
	return brief(errors.Join(faults...))
}

// brief cuts what nobody would read to its end.
func brief(err error) error {
	const most = 8000
	if err == nil || len(err.Error()) <= most {
		return err
	}
	text := err.Error()
	cut := most + max(0, strings.IndexByte(text[most:], '\n'))
	return fmt.Errorf("%s\n… and %d bytes more", text[:cut], len(text)-cut)
}
