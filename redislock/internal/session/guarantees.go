package session

import "github.com/tenurelock/tenure/driver"

// guarantees says what the word of one primary is worth.
//
// Tokens rise over crashes and failovers although nothing is flushed: a grant is numbered above the server's clock in µs, and
// what that rests on is said among the limits.
func (s *Store) guarantees() driver.Guarantees {
	killed := "the server, a TTL after the last renewal"
	if s.opts.Grace != 0 {
		killed = "whoever waits, a grace (a sixth of the TTL) after its connection ended"
	}
	promises := driver.FencingSurvivesCrash | driver.FencingSurvivesFailover | driver.StalledHolderFreed | driver.FirstInFirstOut
	if s.blind { // it may be one that evicts its keys, or goes by a clock of its own
		promises = driver.StalledHolderFreed
	}
	return driver.Guarantees{
		Promises:      promises,
		KilledHolder:  killed,
		StalledHolder: "the server, a TTL after the last renewal",
		Crash: driver.Effect{
			Lock:  "is lost with the server's memory: granted again beside its holder, whose next renewal is refused",
			Token: "rise: above the last grant or the clock in µs, whichever is higher",
		},
		Restart: driver.Effect{
			Lock:  "stays where the server saves its data at the end; a grace of silence ends its lease all the same",
			Token: "rise: above the last grant or the clock in µs, whichever is higher",
		},
		Failover: driver.Effect{
			Lock:  "may be lost, since replicas lag: granted again beside its holder; a grace of silence ends its lease all the same",
			Token: "rise: above the last grant or the clock in µs, whichever is higher",
		},
		ClockStep: driver.Effect{
			Lock:  "a step forward of the server's clock frees leases early by as much, a step back late",
			Token: "rise, from the last grant, which is kept for a day",
		},
		Order:     "first in, first out, among those who ask in time",
		PerHolder: "none: two connections a process for all",
		PerWaiter: "none: two connections a process for all",
		Limits: []string{
			"A crash or a failover of the server loses what was not saved or replicated, held locks too: where a second holder corrupts data, guard the resource by tokens.",
			"A release that is lost in a failover leaves the name held until the same session asks for it again, or until its TTL has run out.",
			"After a crash or a failover that loses the last grant, tokens rise only if the clock of the server, or of the new primary, is not behind that grant.",
			"Leases end when the server cannot be reached for a grace, a sixth of the TTL by default: that is the price for crashed holders being noticed early.",
			"Programs that take the same key by SET NX are excluded and exclude, but do not see the queue, and pass it.",
			"A server that evicts keys is refused; where INFO is not allowed, that cannot be seen.",
		},
	}
}
