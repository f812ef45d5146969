//go:build !linux

package servers

import (
	"fmt"
	"os/exec"
	"strings"
)

// processes lists the system's processes; an error where there is no ps.
func processes() ([]seen, error) {
	said, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,stat=").Output()
	if err != nil {
		return nil, err
	}
	var all []seen
	for line := range strings.Lines(string(said)) {
		var process seen
		var state string
		if _, err := fmt.Sscan(line, &process.pid, &process.parent, &state); err != nil {
			return nil, fmt.Errorf("ps said %q: %w", line, err)
		}
		process.zombie = strings.HasPrefix(state, "Z")
		all = append(all, process)
	}
	return all, nil
}
