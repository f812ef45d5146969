package schema

import (
	"strings"
	"testing"
)

// TestScenariosSeeMutants: each rule of the tokens is needed, and a scenario fails without it.
func TestScenariosSeeMutants(t *testing.T) {
	t.Parallel()
	const opening = "for update;\n    if not found"
	for _, test := range []struct {
		name  string
		run   scenario
		ahead bool
		mutant
	}{
		{"the stamp is not compared", restoredData, false, mutant{replace: []string{" and i.xmin = i.stamp", ""}}},
		{"sessions do not learn of a restore", restoredDataLive, false, mutant{replace: []string{
			"if current_setting('tenure.changing', true) = 'true' then", "if true then",
		}}},
		{"sessions do not learn that the ceiling is gone", ceilingEmptied, true, mutant{replace: []string{
			"if current_setting('tenure.changing', true) = 'true' then", "if true then",
		}}},
		{"the sequence is not compared", madeAnew, false, mutant{replace: []string{"i.grants = g.oid and ", ""}}},
		{"the opening does not wait for a restore", restoredMeanwhile, false, mutant{replace: []string{
			"to_regclass('tenure.ceiling_one_row') is null", "false",
		}}},
		{"the start is not compared", copied, false, mutant{replace: []string{"i.started = pg_postmaster_start_time() and", ""}}},
		{"the incarnation is logged", backendKilled, true, mutant{replace: []string{"unlogged table tenure.incarnation", "table tenure.incarnation"}}},
		{"the sequence and the incarnation are logged", backendKilled, true, mutant{replace: []string{
			"create unlogged sequence", "create sequence", "unlogged table tenure.incarnation", "table tenure.incarnation",
		}, server: map[string]string{"wal_writer_delay": "10s"}, settings: "-c synchronous_commit=off"}},
		{"the sequence is set back", restartedAtTheCeiling, true, mutant{replace: []string{
			"perform setval('tenure.grants', floor)", "perform setval('tenure.grants', floor - 1000)",
		}}},
		{"the opening does not wait for the log", opened, true, mutant{replace: []string{
			"current_setting('synchronous_commit') = 'off'", "false",
		}, server: map[string]string{"wal_writer_delay": "10s"}, settings: "-c synchronous_commit=off"}},
		{"the opening takes no row lock", openedBehind, false, mutant{replace: []string{opening, strings.Replace(opening, "for update", "", 1)}}},
		{"the opening does not look again", openedTwice, true, mutant{replace: []string{"if (select valid from tenure.numbering()) then", "if false then"}}},
		{"the clock is no floor", promoted, false, mutant{replace: []string{"greatest(max(high), clock, above,", "greatest(max(high), above,"}}},
		{"the ceiling is no floor", killed, true, mutant{replace: []string{"greatest(max(high), clock, above,", "greatest(clock, above,"}}},
		{"what was drawn is no floor", initAboveWhatIsDrawn, true, mutant{replace: []string{", tenure.last_drawn()) into strict floor", ") into strict floor"}}},
		{"the ceiling is ignored", ceilingPassed, true, mutant{ignoreHigh: true}},
		{"an opening does not keep others from drawing", initAboveWhatIsDrawn, true, mutant{replace: []string{
			"alter sequence tenure.grants owned by none;", "",
		}}},
		{"the database is not compared", fromTemplate, false, mutant{replace: []string{
			"\n                  and i.grants = g.oid and i.system = c.system_identifier\n                  and i.database = (select oid from pg_database where datname = current_database())", "",
		}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.mutant.clients = 6
			err := test.run(newWorld(t, test.ahead, test.mutant))
			if err == nil {
				t.Error("no scenario has noticed")
			}
			t.Log(err)
		})
	}
}
