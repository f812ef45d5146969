package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// oldestPostgres is the oldest major version that tests may run on.
const oldestPostgres = 15

// findPostgres gives the folder with the binaries of the newest PostgreSQL: Debian keeps them out of PATH, one folder a
// version; elsewhere they are on PATH.
func findPostgres() (string, error) {
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	best, newest := "", oldestPostgres-1
	for _, folder := range folders {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		if err != nil || version <= newest {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, "postgres")); err == nil { // a client alone has a folder too
			best, newest = folder, version
		}
	}
	if best != "" {
		return best, nil
	}
	program, err := exec.LookPath("postgres")
	if err != nil {
		return "", fmt.Errorf("PostgreSQL %d or newer is missing, run scripts/install: %w", oldestPostgres, err)
	}
	return filepath.Dir(program), nil
}
