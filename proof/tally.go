package proof

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tally counts what happened, by verb and outcome, so that a test can tell a proof from a run in which nothing happened.
type Tally map[string]int

// Add counts a history.
func (t Tally) Add(h History) {
	for i := range h {
		op := &h[i]
		outcome := op.Outcome
		if !op.Returned() {
			outcome = "-"
		}
		t[string(op.Verb)+" "+outcome]++
		if op.Granted() && op.Token&255 != 0 {
			t["handed on"]++
		}
	}
	if len(h) > 0 {
		t["nanoseconds"] += int(h[len(h)-1].Call - h[0].Call)
	}
}

// String lists the counts.
func (t Tally) String() string {
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(t)) {
		lines = append(lines, fmt.Sprintf("%s: %d", what, t[what]))
	}
	return strings.Join(lines, ", ")
}
