package filelock_test

import (
	"context"
	"fmt"
	"os"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/filelock"
)

// A program gives the store to tenure.New. This shows what that then does with it.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "locks")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	store, err := filelock.Open(dir, filelock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close(ctx)

	ref := driver.Ref{Name: "report/daily", Acq: 1}
	self := driver.Self()
	grant, err := store.Acquire(ctx, &driver.Request{Ref: ref, Holder: &self, Watch: quiet{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	key, _ := store.Key("report/daily")
	fmt.Println(grant.Number > 0, key)
	fmt.Println(store.Release(ctx, ref))
	// Output:
	// true report%2fdaily.lock
	// <nil>
}

type quiet struct{}

func (quiet) Queued(*driver.Holder) {}
func (quiet) Asked(string)          {}
func (quiet) Lost(error)            {}
