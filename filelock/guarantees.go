package filelock

import "github.com/tenurelock/tenure/driver"

// guarantees says what a directory's word is worth.
//
// A "crash of the store" is a crash of the machine: it ends every holder too, so no lock is freed while it is trusted.
// Tokens go on above the clock, since the record may be lost with the page cache. The two bits for a failover are not
// set: one machine has none, and whoever requires them wants a store of several.
func guarantees() driver.Guarantees {
	return driver.Guarantees{
		Promises:      driver.FencingSurvivesCrash | driver.LockSurvivesCrash,
		KilledHolder:  "the kernel, at once",
		StalledHolder: "nobody, until it wakes or dies; under tenure run its guardian, at the deadline",
		Crash: driver.Effect{
			Lock:  "ends with its holder: both are on the machine that crashed",
			Token: "rise: above the record or the clock, whichever is higher",
		},
		Restart: driver.Effect{
			Lock:  "ends with its holder",
			Token: "rise: above the record or the clock, whichever is higher",
		},
		Failover: driver.Effect{
			Lock:  "not applicable: one machine",
			Token: "not applicable: one machine",
		},
		ClockStep: driver.Effect{
			Lock:  "none: nothing is freed by time",
			Token: "rise, from the record; periods and gaps go by the stepped clock",
		},
		Order:     "none: waiters poll every 8 to 20 ms; readers stand back for a waiting writer",
		PerHolder: "one descriptor",
		PerWaiter: "one descriptor for each name or slot; one more where readers are",
		Limits: []string{
			"It excludes processes of one machine, over one local file system; network file systems and FUSE are refused.",
			"A lock file that is deleted or replaced under its holder excludes nobody; the holder notices at its next renewal, a third of the TTL later at most.",
			"A stopped holder keeps the name until it wakes or dies.",
			"Nothing is flushed: after a power cut tokens rise only if the clock has not gone back.",
			"Readers wait as long as any writer asked before them; a writer that was stopped or killed while it waited holds them back for 0.4 s more.",
			"Of several readers the file describes the last one.",
		},
	}
}
