//go:build !linux

package clock

import "time"

// jump is the smallest forward move of the wall clock that is taken for a suspend.
const jump = int64(100 * time.Millisecond)

// suspended takes a forward jump of the wall clock for time asleep, since the standard library reaches no clock here
// that tells the two apart. A clock that is set forward then ends leases too early, which is the safe mistake.
func suspended(now int64) int64 {
	was := offset.Load()
	if was == 0 || now-was < jump {
		return asleep.Load()
	}
	return asleep.Load() + now - was
}
