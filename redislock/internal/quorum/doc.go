// Package quorum holds locks on a majority of independent nodes: Redlock, with numbers that only rise.
//
//	q, err := quorum.New(nodes, quorum.Options{})
//	claim := q.Claim(quorum.Lock{Key: "report", Owner: owner, TTL: ttl}) // one owner id, one acquisition
//	grant, err := claim.Acquire(ctx, 0)
//	proof, err := claim.Renew(ctx)
//	err = claim.Release(ctx)
//	err = q.Close(ctx)
//
// What is decided and what is done are kept apart. A [state] decides: it is fed with answers and with the time, reads no
// clock, starts nothing, and says what to send next, so that a model can drive it through histories that no network would
// show in a year. [Claim] and [Quorum] do: they send to all nodes at once, each request under a time-out of its own, and go
// on behind the caller's back until nothing is left.
//
// # Why the numbers rise
//
// A node that grants gives a candidate: above all numbers it knows, and no lower than its clock. The maximum of a majority's
// candidates alone repeats and falls, since the other nodes do not know it. So the number is written back, only where the key
// is still ours, and the lease is handed out when a majority has written it.
//
// It is written back only to nodes whose own candidate was not above it. Of two grants, some node has then done all of this
// for both: its key was the one's from its candidate until its write-back, and later the other's. The other's candidate there
// was above the one's number, and so is the other's number. This needs no clock, and no key that lives as long as it should.
// Clocks matter only where a node loses its counter; then those of the nodes must be apart less than the node was away or
// rested.
package quorum
