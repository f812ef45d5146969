// Package fault puts a bad network between the root package and a store, for tests: requests that fail before their
// effect or after it, answers that are lost or late, requests that run after their own clean-up, and a session that is cut
// off altogether.
//
//	store := fault.Wrap(inner, fault.Plan{Seed: 1, Fail: 0.1, Lose: 0.1, Late: 0.2, Overtake: 0.1, Delay: ttl / 2})
//	locker, err := tenure.New(store, tenure.Options{})
//	…
//	store.Calm() // from here on nothing fails
//
// What happens follows from the seed, as far as the order of the calls does.
package fault
