//go:build linux || darwin

// Package group looks at process groups and signals them.
//
// A group is what the command and its descendants share, as long as none of them leaves it by setsid or setpgid. Its id is
// not given to another process while a member is left, dead ones that nobody has waited for included.
package group

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Signal sends a signal to every member. A group without members is no error. It refuses the ids by which kill(2) would
// mean this process's own group, or every process there is.
func Signal(id int, sig unix.Signal) error {
	if id <= 1 {
		return fmt.Errorf("group %d cannot be signalled: it stands for more than a group", id)
	}
	if err := unix.Kill(-id, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal %v to group %d: %w", sig, id, err)
	}
	return nil
}

// Alive says whether a member of the group can still run. Those that are dead, but were not waited for, do not count. A
// group whose members cannot be seen, as another user's on some systems, counts as alive for as long as it exists.
func Alive(id int) bool {
	if id <= 1 || errors.Is(unix.Kill(-id, 0), unix.ESRCH) {
		return false
	}
	seen, err := look(id)
	return err != nil || len(seen.living) > 0 || seen.dead == 0
}

// Alone says whether this process is the only member of its group that lives.
func Alone() bool {
	seen, err := look(unix.Getpgrp())
	return err == nil && len(seen.living) == 1 && seen.living[0] == unix.Getpid()
}

// members are those of a group that can be seen.
type members struct {
	living []int // their process ids
	dead   int   // how many others were not waited for
}
