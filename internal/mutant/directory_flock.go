//go:build linux || darwin || freebsd

package mutant

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/filelock"
)

// The mistakes that only other processes see. They are made in a directory.
const (
	OwnWorld        Flaw = "every process has a memory of its own"
	LeaksFile       Flaw = "a daemon that the holder started has inherited the lock file"
	BreaksOld       Flaw = "a lock that looks old is deleted"
	TicketsStay     Flaw = "a waiter's place in the queue outlives it"
	PromisesTooMuch Flaw = "a stalled holder is said to be freed, and is not"
)

// DirectoryMistakes are those in a directory, each with the rule that catches it.
var DirectoryMistakes = []Mistake{
	{Flaw: OwnWorld, Rule: "process/excludes", Source: "threading locks under several workers"},
	{Flaw: LeaksFile, Rule: "process/killed-holder", Source: "H62: a background daemon inherited the lock's descriptor"},
	{Flaw: TicketsStay, Rule: "process/killed-waiter", Source: "H79: live waiters stranded behind a dead queue head"},
	{Flaw: TicketsStay, Rule: "process/stopped-waiter", Source: "H79: live waiters stranded behind a dead queue head"},
	{Flaw: BreaksOld, Rule: "process/stopped-keeps", Source: "lock files that are broken when they look old"},
	{Flaw: PromisesTooMuch, Rule: "process/stopped-holder", Source: "a table of guarantees that nobody tested"},
}

// OpenDirectory opens a directory with a mistake.
func OpenDirectory(dir string, flaw Flaw) (driver.Store, error) {
	if flaw == OwnWorld {
		return New(Options{})(context.Background())
	}
	inner, err := filelock.Open(dir, filelock.Options{})
	if err != nil {
		return nil, err
	}
	return &directory{Store: inner, dir: dir, flaw: flaw}, nil
}

type directory struct {
	*filelock.Store
	dir  string
	flaw Flaw
}

func (d *directory) Info() driver.Info {
	info := d.Store.Info()
	if d.flaw == PromisesTooMuch {
		info.Guarantees.Promises |= driver.StalledHolderFreed
	}
	return info
}

func (d *directory) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	switch d.flaw {
	case TicketsStay:
		return d.queue(ctx, req)
	case BreaksOld:
		return d.breakOld(ctx, req)
	}
	grant, err := d.Store.Acquire(ctx, req)
	if err == nil && d.flaw == LeaksFile {
		err = d.leak(req.Ref)
	}
	return grant, err
}

// leak starts a daemon that has the lock's descriptors for a while.
func (d *directory) leak(ref driver.Ref) error {
	set, err := d.Descriptors(ref)
	if err != nil {
		return err
	}
	daemon := exec.Command("sleep", "3")
	for _, fd := range set.FDs {
		file := os.NewFile(uintptr(fd), "leaked")
		defer file.Close()
		daemon.ExtraFiles = append(daemon.ExtraFiles, file)
	}
	if err := daemon.Start(); err != nil {
		return err
	}
	go func() { _ = daemon.Wait() }() // it ends by itself
	return nil
}

// breakOld deletes a lock file whose lock is older than the TTL, as if its holder were gone.
func (d *directory) breakOld(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	try := *req
	try.Wait = false
	grant, err := d.Store.Acquire(ctx, &try)
	var held *driver.HeldError
	if errors.As(err, &held) && time.Since(held.Holder.Since) > time.Second/2 {
		if err := os.Remove(filepath.Join(d.dir, req.Key)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return grant, err
		}
		return d.Store.Acquire(ctx, req)
	}
	return grant, err
}

// queue has waiters line up by tickets, first come first served, and takes the ticket back when its turn has come.
func (d *directory) queue(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	if !req.Wait {
		return d.Store.Acquire(ctx, req)
	}
	line := strings.TrimSuffix(filepath.Join(d.dir, req.Key), ".lock") + ".tickets"
	if err := os.MkdirAll(line, 0o700); err != nil {
		return driver.Grant{}, err
	}
	mine := fmt.Sprintf("%020d-%d", time.Now().UnixNano(), os.Getpid())
	if err := os.WriteFile(filepath.Join(line, mine), nil, 0o600); err != nil {
		return driver.Grant{}, err
	}
	req.Watch.Queued(nil)
	for {
		tickets, err := os.ReadDir(line) // sorted
		if err != nil {
			return driver.Grant{}, err
		}
		if tickets[0].Name() == mine {
			grant, err := d.Store.Acquire(ctx, req)
			_ = os.Remove(filepath.Join(line, mine))
			return grant, err
		}
		select {
		case <-ctx.Done():
			_ = os.Remove(filepath.Join(line, mine))
			return driver.Grant{}, &driver.Fault{Kind: driver.Passing, Err: ctx.Err()}
		case <-time.After(5 * time.Millisecond):
		}
	}
}
