package locktest_test

import (
	"context"
	"testing"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/locktest"
	"github.com/tenurelock/tenure/memlock"
)

func TestMemory(t *testing.T) {
	locktest.Run(t, locktest.Harness{Fresh: freshMemory, Bubble: true})
}

// freshMemory makes a memory, and sessions with it.
func freshMemory() locktest.Opener {
	store := memlock.New(memlock.Options{})
	return func(context.Context) (driver.Store, error) { return store.Session(), nil }
}
