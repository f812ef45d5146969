package session

import (
	"fmt"

	"github.com/tenurelock/tenure/driver"
)

// guarantees says what session locks are worth.
func guarantees(o Options) driver.Guarantees {
	closed := "freed at once; holders learn it from the closed connection"
	waiter := fmt.Sprintf("one for each busy name and process, up to %d (Options.Waits)", o.Waits)
	return driver.Guarantees{
		Promises:      driver.FencingSurvivesCrash | driver.FencingSurvivesFailover | driver.StalledHolderFreed,
		KilledHolder:  "the server, at once, when the connection closes",
		StalledHolder: "the server's idle timeout, a TTL after the last heartbeat",
		Crash:         driver.Effect{Lock: closed, Token: "rise"},
		Restart:       driver.Effect{Lock: closed, Token: "rise"},
		Failover: driver.Effect{
			Lock: "freed at once; a holder cut off from the old primary trusts until its deadline",
			Token: "rise; unless a standby that lags takes over within the two clocks' difference after the numbering was opened " +
				"anew, or the numbering had run ahead of the clock",
		},
		ClockStep: driver.Effect{
			Lock:  "forward: freed early by as much, since idle_session_timeout runs on wall time; back: kept longer by as much",
			Token: "rise",
		},
		Order:     "first in, first out, among waits in the server of under a minute; others are tried",
		PerHolder: "one for all of a process, and one more for each lock that was waited for",
		PerWaiter: waiter,
		Limits: []string{
			"A holder that does not see its connection reset, or sleeps, trusts until its deadline beside a successor.",
			"A pooler that shares server sessions is refused, as far as a test of its behaviour finds out; one that pools whole " +
				"sessions must be named by an option.",
			"A wait in the server's queue holds back VACUUM in the whole database, for at most a minute at a time.",
			"The server has one table of fixed size for the locks of all sessions (Options.MaxLocks bounds this one's).",
			"Session locks and lease rows of one database do not exclude each other: all who share a name need one mode.",
			"A holder that is stuck in the middle of a message is ended by whoever waits, if both have the same role.",
			"Deadlocks between two connections of one process go unseen by the server: take several names with AcquireAll.",
			"OncePer and Gap are remembered before the work begins: what is cut off just then counts as done.",
		},
	}
}
