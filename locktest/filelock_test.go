package locktest_test

import (
	"context"
	"testing"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/filelock"
	"github.com/tenurelock/tenure/locktest"
)

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	locktest.Run(t, locktest.Harness{
		Open:    func(context.Context) (driver.Store, error) { return reopen(dir) },
		Address: dir,
		Reopen:  reopen,
	})
}

// reopen opens the directory, here or in another process.
func reopen(dir string) (driver.Store, error) { return filelock.Open(dir, filelock.Options{}) }
