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

// registerState is a register: who wrote it last, and what.
type registerState struct {
	token tenure.Token
	value string
}

// RegisterModel is one guarded register. A write is taken if its token is no lower than that of the write before, and
// refused as stale otherwise; a read sees the write before. Input and output are the *Op; a write that never returned
// may have been taken, or refused, or never come.
var RegisterModel = porcupine.Model{
	Init: func() any { return registerState{} },
	Step: func(state, input, _ any) (bool, any) {
		return state.(registerState).step(input.(*Op))
	},
	DescribeOperation: func(input, _ any) string { return input.(*Op).String() },
}

func (s registerState) step(op *Op) (bool, registerState) {
	written := registerState{op.Token, op.Value}
	switch {
	case op.Verb == Read:
		return written == s, s
	case !op.Returned() && op.Token < s.token:
		return true, s
	case !op.Returned(), op.Outcome == OK:
		return op.Token >= s.token, written
	default:
		return op.Token < s.token && (op.Newest == 0 || op.Newest == s.token), s
	}
}

// registers gives the writes and reads of each register that bind something: a read without an answer does not.
func registers(h History) map[string][]*Op {
	used := make(map[string][]*Op)
	for name, ops := range h.byName() {
		for _, op := range ops {
			if op.Verb == Write || op.Verb == Read && op.Returned() {
				used[name] = append(used[name], op)
			}
		}
	}
	return used
}

// LinearizeRegisters says which registers behaved as no guarded register can: took a stale write, lost one, refused one
// without cause, or showed what nobody could have seen. Porcupine decides it, each register for itself in that time.
func LinearizeRegisters(h History, patience time.Duration) error {
	var faults []error
	for name, ops := range registers(h) {
		clients := numbering{}
		history := make([]porcupine.Operation, len(ops))
		for i, op := range ops {
			history[i] = porcupine.Operation{
				ClientId: clients.of(op.Client), Input: op, Call: int64(op.Call), Return: int64(op.Return),
			}
		}
		faults = append(faults, linearize(RegisterModel, name, ops, history, patience))
	}
	return errors.Join(faults...)
}

// CheckGuards finds the plainest fault of a guard, and says it plainly: a write was taken although a higher token had
// been seen, by somebody who already knew, before the write was asked for.
func CheckGuards(h History) error {
	var faults []error
	for name, ops := range registers(h) {
		byReturn := slices.Clone(ops)
		slices.SortFunc(byReturn, func(a, b *Op) int { return cmp.Compare(a.Return, b.Return) })
		var highest *Op
		for _, late := range ops {
			for len(byReturn) > 0 && byReturn[0].Before(late) {
				if highest == nil || byReturn[0].shows() > highest.shows() {
					highest = byReturn[0]
				}
				byReturn = byReturn[1:]
			}
			if late.Verb == Write && late.Outcome == OK && highest != nil && highest.shows() > late.Token {
				faults = append(faults, fmt.Errorf("the guard of %q took a stale write:\n\t%v\n\t%v", name, highest, late))
			}
		}
	}
	return errors.Join(faults...)
}

// shows is the highest token that a register is known to have seen when the operation had returned.
func (o *Op) shows() tenure.Token {
	if o.Verb == Write && o.Outcome == Stale {
		return o.Newest
	}
	return o.Token
}
