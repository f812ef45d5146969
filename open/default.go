package open

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tenurelock/tenure/driver"
)

// Default opens the store that needs no setting: lock files in [DefaultDir].
func Default(_ context.Context, opts Options) (driver.Store, error) {
	dir, err := DefaultDir()
	if err != nil {
		return nil, err
	}
	return directory(dir, opts)
}

// DefaultDir is the directory of the user's own state:
//
//	Windows   %LocalAppData%\tenure\locks
//	macOS     ~/Library/Application Support/tenure/locks
//	others    $XDG_STATE_HOME/tenure/locks, or ~/.local/state/tenure/locks if that is not set, or not absolute
func DefaultDir() (string, error) {
	return stateDir(runtime.GOOS, os.Getenv)
}

func stateDir(goos string, getenv func(string) string) (string, error) {
	switch goos {
	case "windows":
		if dir := getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "tenure", "locks"), nil
		}
		return "", errors.New("no directory for locks: %LocalAppData% is not set; name a store instead")
	case "darwin":
		if home := getenv("HOME"); home != "" {
			return filepath.Join(home, "Library", "Application Support", "tenure", "locks"), nil
		}
	default:
		// The XDG Base Directory Specification has relative paths ignored.
		if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "tenure", "locks"), nil
		}
		if home := getenv("HOME"); home != "" {
			return filepath.Join(home, ".local", "state", "tenure", "locks"), nil
		}
	}
	return "", errors.New("no directory for locks: $HOME is not set; name a store instead")
}
