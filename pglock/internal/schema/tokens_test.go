package schema

import (
	"strings"
	"testing"
)

// TestTokens: those of a name never repeat and never fall, over any of these, for 32 clients that race into the first
// statement after each. One history spans what is done to one database.
func TestTokens(t *testing.T) {
	t.Parallel()
	type step struct {
		name string
		run  scenario
	}
	for _, test := range []struct {
		name  string
		ahead bool // of the clock, which then is of no help
		steps []step
	}{
		{"SIGKILL", true, []step{
			{"H42 of the server", killed},
			{"H42 of a backend", backendKilled},
			{"H42 right after an opening", opened},
			{"H42 the ceiling is emptied before", ceilingEmptied},
			{"H42 the ceiling is passed", ceilingPassed},
		}},
		{"stop", true, []step{
			{"H42 immediate", stoppedAtOnce},
			{"clean", restarted},
			{"clean with little room", restartedAtTheCeiling},
			{"an opening where none is needed", openedTwice},
			{"H72 init above what is just being drawn", initAboveWhatIsDrawn},
		}},
		{"failover", false, []step{{"H42 to two standbys that lag in turn", promoted}}},
		{"move", true, []step{{"H64 by pg_upgrade and by a dump after a promotion", moved}}},
		{"copy", false, []step{
			{"an opening behind another", openedBehind},
			{"H77 a dump into the running server", restored},
			{"H77 the data of a dump alone", restoredData},
			{"H77 the data of a dump alone, under clients", restoredDataLive},
			{"a sequence made anew", madeAnew},
			{"H77 between the steps of a restore", restoredMeanwhile},
			{"create database from a template", fromTemplate},
			{"of the data folder", copied},
			{"without the rows", emptied},
			{"init above again and again", initAbove},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.ahead, mutant{durable: strings.Contains(test.name, "SIGKILL")})
			for _, step := range test.steps {
				t.Run(step.name, func(t *testing.T) {
					if err := step.run(w); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}
