// Package mutant holds drivers that each make one mistake, for the tests of package locktest: a rule that no mistake
// breaks proves nothing.
//
// There is one small store, in memory, which keeps every rule. A [Flaw] is a mistake in it, of a few words in one place,
// and each is one that a real system made: a hazard that users reported, or a well-known way to get it wrong.
//
//	open := mutant.New(mutant.Options{Flaw: mutant.Ghost})
//	first, err := open(ctx)
//	second, err := open(ctx) // another session with the same store
package mutant
