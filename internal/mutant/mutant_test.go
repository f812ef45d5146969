package mutant_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/internal/mutant"
	"github.com/tenurelock/tenure/locktest"
)

func harness(flaw mutant.Flaw, plain bool) locktest.Harness {
	return locktest.Harness{
		Fresh:  func() locktest.Opener { return mutant.New(mutant.Options{Flaw: flaw, Plain: plain}) },
		Bubble: true,
		TTL:    10 * time.Second,
		Twins:  [][2]string{mutant.Twins},
	}
}

// check runs a rule in a bubble.
func check(t *testing.T, rule locktest.Rule, h locktest.Harness) (err error) {
	synctest.Test(t, func(t *testing.T) { err = rule.Check(t.Context(), h) })
	return err
}

// TestStoreWithoutFlaw shows that what a mutant fails, it fails for its flaw.
func TestStoreWithoutFlaw(t *testing.T) {
	for _, plain := range []bool{false, true} {
		name := map[bool]string{false: "full", true: "plain"}[plain]
		t.Run(name, func(t *testing.T) { locktest.Run(t, harness(mutant.None, plain)) })
	}
}

// TestEveryMistakeIsCaught runs the rule that each mistake breaks.
func TestEveryMistakeIsCaught(t *testing.T) {
	for _, mistake := range mutant.Mistakes {
		t.Run(string(mistake.Flaw), func(t *testing.T) {
			caught(t, mistake, harness(mistake.Flaw, mistake.Plain), func(rule locktest.Rule, h locktest.Harness) error {
				return check(t, rule, h)
			})
		})
	}
}

// caught fails unless the rule that a mistake names notices it.
func caught(t *testing.T, mistake mutant.Mistake, h locktest.Harness, check func(locktest.Rule, locktest.Harness) error) {
	t.Helper()
	all := locktest.Rules()
	i := slices.IndexFunc(all, func(r locktest.Rule) bool { return r.Name == mistake.Rule })
	if i < 0 {
		t.Fatalf("there is no rule %q", mistake.Rule)
	}
	open := h.Open
	if h.Fresh != nil {
		open = h.Fresh()
	}
	store, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close(t.Context()) }()
	if !all[i].Applies(h, store.Info()) {
		t.Fatalf("the rule %q does not apply to the store that breaks it", mistake.Rule)
	}
	if err := check(all[i], h); err == nil {
		t.Errorf("the rule %q (%s) does not notice that %s", mistake.Rule, all[i].Says, mistake.Flaw)
	} else {
		t.Log(err)
	}
}
