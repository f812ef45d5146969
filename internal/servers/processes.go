package servers

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// seen is a process of the system, ours or not.
type seen struct {
	pid, parent int
	zombie      bool // it has ended, and its parent has not asked how
}

// children gives the processes that a process has started and that have not ended.
func children(parent int) ([]int, error) {
	all, err := processes()
	if err != nil {
		return nil, fmt.Errorf("children of %d: %w", parent, err)
	}
	var found []int
	for _, process := range all {
		if process.parent == parent && !process.zombie {
			found = append(found, process.pid)
		}
	}
	return found, nil
}

// untilGone waits until all these processes have ended. Those that were not started by us are nobody's to wait for, so this
// looks again and again.
func untilGone(ctx context.Context, pids []int) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		all, err := processes()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(process seen) bool { return !process.zombie && slices.Contains(pids, process.pid) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("some of the processes %v have not ended: %w", pids, ctx.Err())
		case <-tick.C:
		}
	}
}
