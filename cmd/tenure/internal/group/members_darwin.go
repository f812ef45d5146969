package group

import "golang.org/x/sys/unix"

// zombie is SZOMB in sys/proc.h.
const zombie = 5

// look finds the members of a group.
func look(id int) (seen members, err error) {
	processes, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", id)
	for _, process := range processes {
		if process.Proc.P_stat == zombie {
			seen.dead++
		} else {
			seen.living = append(seen.living, int(process.Proc.P_pid))
		}
	}
	return seen, err
}
