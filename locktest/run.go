package locktest

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/tenurelock/tenure/driver"
)

// Run runs every rule that applies to the store, each as a subtest, and those that bear faults under faults as well.
func Run(t *testing.T, h Harness) {
	info := h.info(t)
	for _, rule := range Rules() {
		if !rule.Applies(h, info) {
			continue
		}
		t.Run(rule.Name, func(t *testing.T) {
			h.run(t, func(t *testing.T) error { return rule.Check(t.Context(), h) })
		})
	}
	for seed := range h.complete(info).Seeds {
		for _, rule := range Rules() {
			if !rule.needs.bears || !rule.Applies(h, info) {
				continue
			}
			t.Run(fmt.Sprintf("faults/seed-%d/%s", seed+1, rule.Name), func(t *testing.T) {
				h.run(t, func(t *testing.T) error { return rule.CheckUnderFaults(t.Context(), h, uint64(seed)+1) })
			})
		}
	}
}

// run calls f in a bubble, or beside other rules.
func (h Harness) run(t *testing.T, f func(*testing.T) error) {
	judge := func(t *testing.T) {
		if err := f(t); err != nil {
			t.Error(err)
		}
	}
	if h.Bubble {
		synctest.Test(t, judge)
		return
	}
	t.Parallel()
	judge(t)
}

// info asks a store what it says of itself.
func (h Harness) info(t *testing.T) (info driver.Info) {
	t.Helper()
	store, err := h.opener()(t.Context(), h.complete(driver.Info{}).TTL)
	if err != nil {
		t.Fatalf("open a session: %v", err)
	}
	defer func() { _ = store.Close(t.Context()) }()
	return store.Info()
}
