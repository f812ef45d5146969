package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// processes lists the system's processes.
func processes() ([]seen, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var all []seen
	for _, path := range paths {
		stat, err := os.ReadFile(path)
		if err != nil { // it has ended meanwhile
			continue
		}
		process := seen{}
		if process.pid, err = strconv.Atoi(filepath.Base(filepath.Dir(path))); err != nil {
			return nil, err
		}
		// The name stands in parentheses and may hold some itself; after it come state and parent.
		var state string
		if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &process.parent); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		process.zombie = state == "Z" || state == "X"
		all = append(all, process)
	}
	return all, nil
}
