package quorum

import (
	"fmt"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

// run plays that many histories of a world.
func run(w world, histories int, r rules, each func(seed uint64, found tally)) (all tally) {
	var h history
	for seed := range uint64(histories) {
		h.tally = tally{}
		h.play(seed, w, r)
		all.count(h.tally)
		if each != nil {
			each(seed, h.tally)
		}
	}
	return all
}

// TestModel: no two grants of a name have one number; a grant's number is above those of all that were handed out before it was
// asked for, and while the nodes keep their word above all that were handed out before it; then, no two trusted times overlap;
// and no key is left behind that nobody removes.
func TestModel(t *testing.T) {
	const histories = 40_000
	for w := range worlds {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			all := run(w, histories, rules{}, func(seed uint64, found tally) {
				if found.same+found.falls+found.overlaps+found.stranded > 0 {
					t.Errorf("world %d, seed %d: %+v", w, seed, found)
				}
			})
			t.Logf("%+v", all)
		})
	}
}

// handOut is the rule of the maximum only.
func handOut(s *state, _ driver.Instant) { s.grant() }

// TestModelCatches what is known to be wrong.
func TestModelCatches(t *testing.T) {
	for _, wrong := range []struct {
		name  string
		world world
		rules rules
		seen  func(tally) int
	}{
		{"MaximumOnly", wordKept, rules{number: handOut}, numbers},
		{"MaximumOnly", wordBroken, rules{number: handOut}, numbers},
		{"BlindWriteBack", wordBroken, rules{script: scriptRules{blindWriteBack: true}}, numbers},
		{"NoFloor", counterLost, rules{script: scriptRules{noFloor: true}}, numbers},
		{"NoRest", wordKept, rules{script: scriptRules{noRest: true}}, func(t tally) int { return t.overlaps }},
	} {
		t.Run(fmt.Sprintf("%s/%d", wrong.name, wrong.world), func(t *testing.T) {
			t.Parallel()
			all := run(wrong.world, 10_000, wrong.rules, nil)
			if wrong.seen(all) == 0 {
				t.Errorf("not seen: %+v", all)
			}
			t.Logf("%+v", all)
		})
	}
}

func numbers(t tally) int { return t.same + t.falls }
