//go:build !linux && !darwin

package main

import "runtime"

// perform is refused: what run promises rests on process groups and on a guardian that can end them.
func perform(_ *settings, _ string, _ []string) error {
	return usage("run works on Linux and macOS; on %s use the library", runtime.GOOS)
}
