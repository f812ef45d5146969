package locktest

import (
	"context"
	"fmt"
	"slices"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/process"
)

// Rule is one thing that a store owes, alone or with the root package above it.
type Rule struct {
	// Name is short, such as "wait/order". The part before the slash is the rule's chapter.
	Name string
	// Says is the rule, in a sentence.
	Says string

	needs needs
	check func(*trial)
}

// needs says to which stores a rule applies.
type needs struct {
	features driver.Features
	lacks    driver.Features  // applies only to stores that lack one of these
	promises driver.Guarantee // applies only where all of these are promised
	breaks   driver.Guarantee // applies only where none of these is promised
	twins    bool             // needs Harness.Twins
	process  bool             // needs Harness.Address
	stops    bool             // needs an operating system that can stop a process
	bears    bool             // also holds under faults
}

// Rules are all rules.
func Rules() []Rule {
	return slices.Concat(
		exclusionRules, nameRules, numberRules, ownerRules, renewRules, proofRules, expiryRules, waitRules, cancelRules,
		sharedRules, slotRules, memoryRules, inspectRules, abandonRules, closeRules, unsupportedRules,
		lockerRules, lockerWaitRules, faultRules, processRules,
	)
}

// Applies says whether a store that says this of itself owes the rule, and whether the harness can show it.
func (r Rule) Applies(h Harness, info driver.Info) bool {
	n := r.needs
	switch {
	case !info.Features.Has(n.features),
		n.lacks != 0 && info.Features.Has(n.lacks),
		!info.Guarantees.Promises.Has(n.promises),
		info.Guarantees.Promises&n.breaks != 0,
		n.twins && len(h.Twins) == 0,
		n.process && h.Address == "" && h.At == nil,
		n.stops && !process.CanStop:
		return false
	}
	return true
}

// Check returns what is wrong with the store, or nil. With Harness.Bubble it must be called inside a bubble.
func (r Rule) Check(ctx context.Context, h Harness) error {
	return r.checkUnder(ctx, h, nil)
}

// BearsFaults says whether the rule also holds when requests and answers are lost, late, or out of order.
func (r Rule) BearsFaults() bool { return r.needs.bears }

// CheckUnderFaults is Check with faults between the root package and the store, which follow from the seed.
func (r Rule) CheckUnderFaults(ctx context.Context, h Harness, seed uint64) error {
	return r.checkUnder(ctx, h, &weather{seed: seed})
}

func (r Rule) checkUnder(ctx context.Context, h Harness, f *weather) (err error) {
	t, err := newTrial(ctx, h, r.Name, f)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("%s: %s\n\tthe rule: %s", r.Name, string(p), r.Says)
		default:
			panic(p)
		}
		if left := t.end(); left != nil && err == nil {
			err = fmt.Errorf("%s: %w", r.Name, left)
		}
	}()
	r.check(t)
	return nil
}
