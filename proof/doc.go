// Package proof looks for broken promises: it records what many clients did with leases, and judges the record. It is for
// the tests of Tenure's stores and for its lab, never for programs, and it is not released.
//
//	history, err := proof.Torture(ctx, proof.Config{
//		Seed: seed,
//		Open: func(ctx context.Context) (driver.Store, error) { return filelock.Open(dir, filelock.Options{}) },
//	})
//	if err != nil {
//		t.Fatalf("%v\n%v", err, history) // the error begins with the seed
//	}
//
// # The record
//
// A [History] is made by a [Recorder], one operation after the other: which client, called and returned when, and with
// what outcome. An operation that never returned has an unknown outcome: nothing is guessed. As text it has one line for
// each ([Op.String]), so that scenarios can be written by hand; testdata has good and bad ones. Processes of one machine
// record on one clock ([MachineClock]), write as they go ([Recorder.StreamTo]) and are merged afterwards ([Merge]), also
// when they were killed.
//
// # The judgement
//
//   - [CheckTokens]: a lease that was asked for after another had been had has a higher token, and no token comes twice.
//     [LinearizeTokens] lets porcupine say the same.
//   - [CheckOverlap]: no two leases were trusted at once, unless both were shared. Trust begins when Acquire returns, and
//     ends when the holder is told of a loss, begins to release, or could no longer have trusted ([Intervals]).
//   - [LinearizeRegisters]: what the leases protect, a register behind a guard, was linearizable, and took no stale write.
//     [CheckGuards] finds the plainest case of that, and says it plainly.
//   - [CheckEnds]: no loss was kept from whoever released.
//   - [CheckPunctual]: under fake time, nobody was told of a loss after the end of trust.
//
// [Check] is all of them but the last. A store that was made to forget holders without telling them has broken its word;
// [CheckBroken] is what must hold even then, since it rests on the guard alone.
//
// # The torture
//
// [Torture] does at random, by a seed, what callers can do (waiting and trying, shared leases and slots, Do with panics
// and Goexit, several names at once, contexts that end early), while an operator cuts sessions off, closes and reopens
// them and has the store lose names, and requests fail, get lost, come late ([Faults]). It ends with a look at what is
// left: every name must be had by a fresh session soon, and be free when all have gone. [Processes] does it with several
// processes, which it stops, continues and kills.
//
// In the tests of this package, TENURE_SEED=N repeats the seed of a failure, and TENURE_TORTURE=10m goes on with new
// seeds for so long. A seed fixes what each client does, and not how the scheduler mixes them, so a rare failure may need
// several runs.
package proof
