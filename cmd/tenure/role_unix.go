//go:build linux || darwin

package main

import (
	"github.com/tenurelock/tenure/cmd/tenure/internal/child"
	"github.com/tenurelock/tenure/cmd/tenure/internal/guardian"
	"github.com/tenurelock/tenure/cmd/tenure/internal/self"
	"github.com/tenurelock/tenure/cmd/tenure/internal/terminal"
)

// role plays the hidden role in which "tenure run" started this process, and gives its exit status.
func role() (status int, hidden bool) {
	switch self.Role() {
	case self.Guardian:
		return guardian.Main(), true
	case self.Command:
		return child.Stub(), true
	}
	return 0, false
}

// quietly lets a process in the background write to its terminal.
func quietly(do func()) { terminal.Quietly(do) }
