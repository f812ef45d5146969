package session

import (
	"strconv"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/redislock/internal/companion"
)

// keysOf gives the keys that the scripts take: those of the queue, then each lock with its state. The slots of a group share
// a queue of their own, beside that of the group's name.
func keysOf(key string, slots []driver.Slot) []string {
	if len(slots) == 0 {
		return []string{
			companion.Of(key, companion.Queue), companion.Of(key, companion.Waiters), companion.Of(key, companion.Readers),
			companion.Of(key, companion.Ran), key, companion.Of(key, companion.State),
		}
	}
	keys := make([]string, 0, 4+2*len(slots))
	keys = append(keys,
		companion.Of(key, companion.SlotQueue), companion.Of(key, companion.SlotWaiters), companion.Of(key, companion.SlotReaders),
		companion.Of(key, companion.SlotRan))
	for _, slot := range slots {
		keys = append(keys, slot.Key, companion.Of(slot.Key, companion.State))
	}
	return keys
}

// owner makes an owner id. The grace in it is the one that counts for this holder, whoever asks.
func (s *Store) owner(acq uint64, grace time.Duration) string {
	return "tenure:" + s.info.Session + ":" + strconv.FormatUint(acq, 10) + ":" + milliseconds(grace)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// setsOf gives the keys of each script that a request takes: one, but for slots whose keys are in several slots of a Cluster. A
// script cannot have these together, so each is tried for itself, and they have no queue.
func (s *Store) setsOf(key string, slots []driver.Slot) [][]string {
	apart := false
	for _, slot := range slots {
		apart = apart || s.opts.Cluster && companion.Slot(slot.Key) != companion.Slot(key)
	}
	if !apart {
		return [][]string{keysOf(key, slots)}
	}
	sets := make([][]string, len(slots))
	for i, slot := range slots {
		sets[i] = keysOf(slot.Key, nil)
	}
	return sets
}
