package memlock

import "github.com/tenurelock/tenure/driver"

// guarantees is what a memory's word is worth. All that is said of crashes and failovers holds because the memory ends
// with everybody who could hold something in it.
var guarantees = driver.Guarantees{
	Promises: driver.FencingSurvivesCrash | driver.FencingSurvivesFailover |
		driver.LockSurvivesCrash | driver.LockSurvivesFailover |
		driver.StalledHolderFreed | driver.FirstInFirstOut,
	KilledHolder:  "nobody needs to: the memory ends with the process",
	StalledHolder: "the memory, a TTL after the last renewal, at once where somebody waits",
	Crash: driver.Effect{
		Lock:  "ends with its holders",
		Token: "rise: numbers start at the clock in µs",
	},
	Restart: driver.Effect{
		Lock:  "ends with its holders",
		Token: "rise: numbers start at the clock in µs",
	},
	Failover: driver.Effect{
		Lock:  "there is no replica",
		Token: "there is no replica",
	},
	ClockStep: driver.Effect{
		Lock:  "none: expiry runs on the clock that only rises",
		Token: "rise; may fall only if the clock is set back and the process then restarts",
	},
	Order:     "first in, first out",
	PerHolder: "none",
	PerWaiter: "none",
	Limits: []string{
		"It excludes nobody outside this process.",
		"A child process, or a request on its way, that outlives the process is not held back.",
		"After a restart, tokens rise only if the clock was not set back and fewer than a million grants a second had " +
			"been made for as long as the process ran.",
		"OncePer and Gap are forgotten when the process ends.",
	},
}
