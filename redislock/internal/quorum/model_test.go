package quorum

import (
	"fmt"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

// run plays up to so many histories of a world, for as long as goOn likes what it sees.
func run(w world, histories int, r rules, goOn func(seed uint64, found tally) bool) (all tally) {
	var h history
	for seed := range uint64(histories) {
		h.tally = tally{}
		h.play(seed, w, r)
		all.count(h.tally)
		if !goOn(seed, h.tally) {
			break
		}
	}
	return all
}

// TestModel: no two grants of a name have one number; a grant's number is above those of all that were handed out before it was
// asked for, and while the nodes keep their word above all that were handed out before it; then, no two trusted times overlap;
// and no key is left behind that nobody removes.
func TestModel(t *testing.T) {
	const histories = 35_000 // in each of three worlds
	for w := range worlds {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			all := run(w, histories, rules{}, func(seed uint64, found tally) bool {
				if found.same+found.falls+found.overlaps+found.stranded > 0 {
					t.Errorf("world %v, seed %d: %+v", w, seed, found)
				}
				return true
			})
			if all.grants < histories/2 || all.topUps == 0 || all.late == 0 {
				t.Errorf("little has happened: %+v", all)
			}
			t.Logf("%+v", all)
		})
	}
}

// maximumOnly hands out as soon as a majority has granted: a known-bad rule.
func maximumOnly(s *state, _ driver.Instant) { s.grant() }

// TestModelCatches what is known to be wrong, so that it would be seen.
func TestModelCatches(t *testing.T) {
	for _, wrong := range []struct {
		name  string
		world world
		rules rules
		seen  func(tally) int
	}{
		{"MaximumOnly", wordKept, rules{number: maximumOnly}, wrongNumbers},
		{"MaximumOnly", wordBroken, rules{number: maximumOnly}, wrongNumbers},
		{"BlindWriteBack", wordBroken, rules{script: scriptRules{blindWriteBack: true}}, wrongNumbers},
		{"NoFloor", counterLost, rules{script: scriptRules{noFloor: true}}, wrongNumbers},
		{"NoRest", wordKept, rules{script: scriptRules{noRest: true}}, overlaps},
		{"NoMajority", wordKept, rules{fewer: 1}, overlaps},
	} {
		t.Run(fmt.Sprintf("%s/%v", wrong.name, wrong.world), func(t *testing.T) {
			t.Parallel()
			seen := 0
			all := run(wrong.world, 50_000, wrong.rules, func(_ uint64, found tally) bool {
				seen += wrong.seen(found)
				return seen == 0
			})
			if seen == 0 {
				t.Errorf("not seen: %+v", all)
			}
			t.Logf("seen in history %d", all.histories)
		})
	}
}

func wrongNumbers(t tally) int { return t.same + t.falls }
func overlaps(t tally) int     { return t.overlaps }
