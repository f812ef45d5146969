package rows

import "github.com/tenurelock/tenure/driver"

// guarantees says what the word of lease rows is worth.
//
// FencingSurvivesFailover is promised although a standby may lack the last rows: numbers go on above the clock. What that
// rests on is said among the limits. LockSurvivesFailover is not: the lease itself may be among what is lost.
func guarantees() driver.Guarantees {
	return driver.Guarantees{
		Promises: driver.FencingSurvivesCrash | driver.FencingSurvivesFailover | driver.LockSurvivesCrash |
			driver.StalledHolderFreed,
		KilledHolder:  "the database's clock, a TTL after the last renewal",
		StalledHolder: "the database's clock, a TTL after the last renewal",
		Crash: driver.Effect{
			Lock:  "stays with its holder: the row was flushed before it was granted",
			Token: "rise: the number is in the row",
		},
		Restart: driver.Effect{
			Lock:  "stays with its holder, who renews once the server answers",
			Token: "rise: the number is in the row",
		},
		Failover: driver.Effect{
			Lock:  "stays where replication is synchronous; with an asynchronous standby a row it lacks may be granted again beside its holder",
			Token: "rise: above the row or the clock in µs, whichever is higher",
		},
		ClockStep: driver.Effect{
			Lock:  "a step forward of the database's clock frees leases early by as much, a step back late",
			Token: "rise, from the row",
		},
		Order:     "by when they began to wait, as long as each asks again in time; nobody passes a live waiter, and a late one loses its turn",
		PerHolder: "none: one connection a process for all",
		PerWaiter: "none: one connection a process for all, which listens, where LISTEN works",
		Limits: []string{
			"After a failover to a standby that lacks the last rows, or a restored backup, tokens rise only if the new primary's clock is not behind the last grant.",
			"A waiter that stalls or dies holds up those behind it until its next question is overdue: a quarter of the TTL, at most 5 s, and 0.5 s more.",
			"Where LISTEN does not work, as behind a pooler in transaction or statement mode, a waiter may see a free name only after a quarter of its TTL or 2 s.",
			"The name of a killed holder is not free at once, as with session locks, but when its TTL has run out.",
			"Each grant, renewal and release is a write; synchronous_commit is never weaker than local for it, whatever the role's setting.",
			"Setting synchronous_commit aside, a server with fsync = off keeps neither leases nor numbers over a crash of its machine.",
		},
	}
}
