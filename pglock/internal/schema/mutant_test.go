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
		{"the stamp is not compared", restored, false, mutant{replace: []string{" and xmin = stamp", ""}}},
		{"the opening does not wait for a restore", restoredMeanwhile, false, mutant{replace: []string{
			"to_regclass('tenure.ceiling_one_row') is null", "false",
		}}},
		{"the start is not compared", copied, false, mutant{replace: []string{"started = pg_postmaster_start_time() and", ""}}},
		{"the incarnation is logged", backendKilled, true, mutant{replace: []string{"unlogged table tenure.incarnation", "table tenure.incarnation"}}},
		{"the sequence and the incarnation are logged", backendKilled, true, mutant{replace: []string{
			"create unlogged sequence", "create sequence", "unlogged table tenure.incarnation", "table tenure.incarnation",
		}, server: map[string]string{"wal_writer_delay": "10s"}, settings: "-c synchronous_commit=off"}},
		{"the sequence is restarted", restartedAtTheCeiling, true, mutant{replace: []string{
			"delete from tenure.incarnation;", "delete from tenure.incarnation; perform setval('tenure.grants', 1, false);",
		}}},
		{"the opening does not wait for the log", opened, true, mutant{replace: []string{
			"current_setting('synchronous_commit') = 'off'", "false",
		}, server: map[string]string{"wal_writer_delay": "10s"}, settings: "-c synchronous_commit=off"}},
		{"the opening takes no row lock", openedBehind, false, mutant{replace: []string{opening, strings.Replace(opening, "for update", "", 1)}}},
		{"the opening does not look again", openedTwice, true, mutant{replace: []string{"if trusted is null then", "if true then"}}},
		{"the clock is no floor", promoted, false, mutant{replace: []string{"greatest(max(high), clock, above)", "greatest(max(high), above)"}}},
		{"the ceiling is no floor", killed, true, mutant{replace: []string{"greatest(max(high), clock, above)", "greatest(clock, above)"}}},
		{"the ceiling is ignored", ceilingPassed, true, mutant{ignoreHigh: true}},
		{"init above does not wait for statements", initAboveWaits, false, mutant{replace: []string{"lock table tenure.incarnation in access exclusive mode;", ""}}},
		{"the database is not compared", fromTemplate, false, mutant{skipBelongs: true}},
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
