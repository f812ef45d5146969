//go:build !linux

package proof

import "time"

// machineNow is the wall clock: the only one that the standard library lets all processes share here. A run in which it
// is set proves nothing.
func machineNow() Instant { return Instant(time.Now().UnixNano()) }
