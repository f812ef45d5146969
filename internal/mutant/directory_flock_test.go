//go:build linux || darwin || freebsd

package mutant_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/leak"
	"github.com/tenurelock/tenure/internal/mutant"
	"github.com/tenurelock/tenure/locktest"
)

// TestMain is leak.Main for a program that also runs as its own child.
func TestMain(m *testing.M) {
	code := locktest.Main(m, reopen)
	if left := leak.Wait(2 * time.Second); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines were left behind:\n\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// reopen opens "directory|flaw".
func reopen(address string) (driver.Store, error) {
	dir, flaw, _ := strings.Cut(address, "|")
	return mutant.OpenDirectory(dir, mutant.Flaw(flaw))
}

func inDirectory(t *testing.T, flaw mutant.Flaw) locktest.Harness {
	address := t.TempDir() + "|" + string(flaw)
	return locktest.Harness{
		Open:    func(context.Context) (driver.Store, error) { return reopen(address) },
		TTL:     time.Second / 2,
		Prompt:  time.Second,
		Address: address,
		Reopen:  reopen,
	}
}

// TestEveryMistakeInADirectoryIsCaught runs the rule that each mistake breaks, with other processes.
func TestEveryMistakeInADirectoryIsCaught(t *testing.T) {
	for _, mistake := range mutant.DirectoryMistakes {
		t.Run(string(mistake.Flaw), func(t *testing.T) {
			t.Parallel()
			caught(t, mistake, inDirectory(t, mistake.Flaw), func(rule locktest.Rule, h locktest.Harness) error {
				return rule.Check(t.Context(), h)
			})
		})
	}
}

// without lists the rules that no mistake here breaks, and why.
var without = map[string]string{}

// TestEveryRuleHasItsMistake holds the two tables together.
func TestEveryRuleHasItsMistake(t *testing.T) {
	broken := make(map[string]bool)
	for _, mistake := range slices.Concat(mutant.Mistakes, mutant.DirectoryMistakes) {
		broken[mistake.Rule] = true
	}
	seen := make(map[string]bool)
	for _, rule := range locktest.Rules() {
		if seen[rule.Name] {
			t.Errorf("two rules are named %q", rule.Name)
		}
		seen[rule.Name] = true
		switch reason, excused := without[rule.Name]; {
		case broken[rule.Name] && excused:
			t.Errorf("the rule %q has a mistake, and is listed as one that has none", rule.Name)
		case !broken[rule.Name] && reason == "":
			t.Errorf("no mistake breaks the rule %q: add one, or the reason why there is none", rule.Name)
		}
	}
	for name := range without {
		if !seen[name] {
			t.Errorf("there is no rule %q, which is listed as one without a mistake", name)
		}
	}
}
