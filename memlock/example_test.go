package memlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/memlock"
)

// quiet is a Watcher for those who do not listen.
type quiet struct{}

func (quiet) Queued(*driver.Holder) {}
func (quiet) Asked(string)          {}
func (quiet) Lost(error)            {}

// Two sessions on one memory exclude each other, as two processes would. A program uses tenure.New over the store; this
// is what happens below it.
func Example() {
	ctx := context.Background()
	here := memlock.New(memlock.Options{})
	there := here.Session()

	report := driver.Ref{Name: "report/daily", Key: "report/daily", Acq: 1}
	first, _ := here.Acquire(ctx, &driver.Request{Ref: report, Watch: quiet{}})
	_, err := there.Acquire(ctx, &driver.Request{Ref: report, Watch: quiet{}, Holder: &driver.Holder{Program: "b"}})
	var held *driver.HeldError
	fmt.Println("held:", errors.As(err, &held))

	_ = here.Release(ctx, report)
	report.Acq = 2
	second, _ := there.Acquire(ctx, &driver.Request{Ref: report, Watch: quiet{}})
	fmt.Println("rising:", second.Number > first.Number)
	// Output:
	// held: true
	// rising: true
}

// A test takes a lease away, to see what its program does about it.
func ExampleStore_Lose() {
	ctx := context.Background()
	store := memlock.New(memlock.Options{})
	ref := driver.Ref{Name: "billing/leader", Key: "billing/leader", Acq: 1}
	_, _ = store.Acquire(ctx, &driver.Request{Ref: ref, Watch: loud{}})

	store.Lose("billing/leader")
	fmt.Println(store.Release(ctx, ref))
	// Output:
	// lost: the memory was told to lose it
	// the store says that this owner does not hold the name
}

type loud struct{ quiet }

func (loud) Lost(cause error) { fmt.Println("lost:", cause) }
