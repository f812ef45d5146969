package session

import "github.com/tenurelock/tenure/driver"

// guarantees says what session locks are worth.
func guarantees(o Options) driver.Guarantees {
	promises := driver.FencingSurvivesCrash | driver.FencingSurvivesFailover | driver.StalledHolderFreed
	return driver.Guarantees{
		Promises:      promises,
		KilledHolder:  "the server, at once",
		StalledHolder: "the server's idle timeout, a TTL after the last heartbeat",
		Crash:         driver.Effect{Lock: "freed at once; holders learn it from the closed connection", Token: "rises"},
		Restart:       driver.Effect{Lock: "freed at once; holders learn it from the closed connection", Token: "rises"},
		Failover:      driver.Effect{Lock: "freed at once; a holder cut off from the old primary trusts until its deadline", Token: "rises, but for an opening within the clocks' difference"},
		ClockStep:     driver.Effect{Lock: "forward: freed early by as much, since idle_session_timeout runs on wall time", Token: "rises"},
		Order:         "first in, first out, among waits in the server of under a minute; others are tried",
		PerHolder:     "one for all of a process, and one more for each lock that was waited for",
		PerWaiter:     "one for each busy name and process",
		Limits: []string{
			"A holder that does not see its connection reset, or sleeps, trusts until its deadline beside a successor.",
			"A pooler that shares server sessions is refused; one that pools sessions must be named by an option.",
			"Deadlocks between two connections of one process go unseen by the server: take several names with AcquireAll.",
		},
	}
}
