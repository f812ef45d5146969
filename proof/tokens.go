package proof

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/tenurelock/tenure"
)

// CheckTokens says which leases of one name have tokens that a guard would take wrong: one token twice, or a lease that
// was asked for when another had been had already, and got a lower token. It takes n·log n steps, and gives all faults.
func CheckTokens(h History) error {
	faults := []error{CheckRepeats(h)}
	for _, granted := range grants(h) {
		byReturn := slices.Clone(granted)
		slices.SortFunc(byReturn, func(a, b *Op) int { return cmp.Compare(a.Return, b.Return) })
		var highest *Op // of the leases that had been had before this call
		for _, op := range granted {
			for len(byReturn) > 0 && byReturn[0].Before(op) {
				if highest == nil || byReturn[0].Token > highest.Token {
					highest = byReturn[0]
				}
				byReturn = byReturn[1:]
			}
			if highest != nil && op.Token < highest.Token {
				faults = append(faults, fmt.Errorf("a token of %q fell:\n\t%v\n\t%v", op.Name, highest, op))
			}
		}
	}
	return errors.Join(faults...)
}

// CheckRepeats says which tokens of one name were issued twice.
func CheckRepeats(h History) error {
	var faults []error
	seen := make(map[leaseID]*Op)
	for i := range h {
		op := &h[i]
		if !op.Granted() {
			continue
		}
		if first := seen[op.lease()]; first != nil {
			faults = append(faults, fmt.Errorf("a token of %q was issued twice:\n\t%v\n\t%v", op.Name, first, op))
		}
		seen[op.lease()] = op
	}
	return errors.Join(faults...)
}

// grants gives the acquisitions of each name that ended with a lease, in the order of their calls. Others bind nothing:
// whatever token an unknown one drew, it may have been the highest so far, drawn after all else.
func grants(h History) map[string][]*Op {
	granted := h.byName()
	for name, ops := range granted {
		ops = slices.DeleteFunc(ops, func(op *Op) bool { return !op.Granted() })
		if granted[name] = ops; len(ops) == 0 {
			delete(granted, name)
		}
	}
	return granted
}

// TokenModel is what the tokens of one name should be: each lease has a higher one than the lease before. Its input is
// nil and its output the token.
var TokenModel = porcupine.Model{
	Init: func() any { return tenure.Token(0) },
	Step: func(state, _, output any) (bool, any) {
		return output.(tenure.Token) > state.(tenure.Token), output
	},
	DescribeOperation: func(_, output any) string { return fmt.Sprintf("acquire: %v", output) },
}

// LinearizeTokens is CheckTokens by porcupine: slower, and made without knowledge of this one.
func LinearizeTokens(h History, patience time.Duration) error {
	var faults []error
	for name, ops := range grants(h) {
		clients := numbering{}
		history := make([]porcupine.Operation, len(ops))
		for i, op := range ops {
			history[i] = porcupine.Operation{
				ClientId: clients.of(op.Client), Call: int64(op.Call), Output: op.Token, Return: int64(op.Return),
			}
		}
		faults = append(faults, linearize(TokenModel, name, ops, history, patience))
	}
	return errors.Join(faults...)
}

// numbering gives each client the number that porcupine wants.
type numbering map[string]int

func (n numbering) of(client string) int {
	number, known := n[client]
	if !known {
		number = len(n)
		n[client] = number
	}
	return number
}

// linearize looks for an order of the operations on one name that explains what each has seen. The error shows where
// the search came no further.
func linearize(model porcupine.Model, name string, ops []*Op, history []porcupine.Operation, patience time.Duration) error {
	switch porcupine.CheckOperationsTimeout(model, history, patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%q: the %d operations were not decided in %v", name, len(ops), patience)
	}
	_, info := porcupine.CheckOperationsVerbose(model, history, patience)
	var longest []int
	for _, found := range info.PartialLinearizations()[0] {
		if len(found) > len(longest) || len(found) == len(longest) && slices.Compare(found, longest) < 0 {
			longest = found
		}
	}
	placed := make([]bool, len(ops))
	for _, i := range longest {
		placed[i] = true
	}
	text := fmt.Sprintf("%q: no order explains these operations; %d of %d could be put in order", name, len(longest), len(ops))
	if len(longest) > 0 {
		text += fmt.Sprintf(", the last of them\n\t%v\nand then none of", ops[longest[len(longest)-1]])
	}
	for i, shown := 0, 0; i < len(ops) && shown < 5; i++ {
		if !placed[i] {
			text += "\n\t" + ops[i].String()
			shown++
		}
	}
	return errors.New(text)
}
