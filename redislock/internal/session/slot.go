package session

import "github.com/tenurelock/tenure/redislock/internal/companion"

// slotOf is a key's slot in a Cluster.
func slotOf(key string) uint16 { return companion.Slot(key) }
