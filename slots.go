package tenure

import (
	"context"
	"strconv"
)

func slotName(name string, number int) string { return name + "#" + strconv.Itoa(number) }

func (l *Locker) acquireSlot(ctx context.Context, name, key string, wait bool) (*Lease, error) {
	panic("todo")
}
