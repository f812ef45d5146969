//go:build unix

package proof

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tenurelock/tenure"
)

// FileRegisters is a Resource that all processes of this machine can reach: a folder with a file for each register. Each
// access has a lock of its own around it, since a resource must do one thing after the other by itself; what it cannot do
// by itself is to know whose turn it is.
type FileRegisters struct {
	Dir       string
	Unguarded bool // takes every write
}

// Write implements [Resource].
func (r FileRegisters) Write(_ context.Context, fence tenure.Fence, value string) error {
	return r.with(fence.Name, func(path string) error {
		state, err := readState(path)
		if err != nil {
			return err
		}
		next, err := state.write(fence, value, r.Unguarded)
		if err != nil {
			return err
		}
		// A writer may be killed at any moment: the old state or the new one, and nothing between.
		text := fmt.Sprintf("%d %s", next.token, next.value)
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	})
}

// Read implements [Resource].
func (r FileRegisters) Read(_ context.Context, name string) (value string, token tenure.Token, err error) {
	err = r.with(name, func(path string) error {
		state, err := readState(path)
		value, token = state.value, state.token
		return err
	})
	return value, token, err
}

func (r FileRegisters) with(name string, access func(path string) error) error {
	path := filepath.Join(r.Dir, "register-"+url.PathEscape(name))
	door, err := os.OpenFile(path+".door", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = door.Close() }() // and with it the lock
	for {
		err := syscall.Flock(int(door.Fd()), syscall.LOCK_EX)
		if err == nil {
			return access(path)
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("locking %s: %w", door.Name(), err)
		}
	}
}

func readState(path string) (registerState, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return registerState{}, nil
	}
	if err != nil {
		return registerState{}, err
	}
	digits, value, _ := strings.Cut(string(text), " ")
	token, err := tenure.ParseToken(digits)
	return registerState{token, value}, err
}
