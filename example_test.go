package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/memlock"
)

// Work runs under a lease that is renewed behind it. A second holder is told who is in the way.
func Example() {
	ctx := context.Background()
	store := memlock.New(memlock.Options{}) // or filelock.Open("/var/lib/report/locks", filelock.Options{})
	defer store.Close(ctx)
	locker, err := tenure.New(store, tenure.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close(ctx)

	err = locker.Do(ctx, "report/daily", func(ctx context.Context, lease *tenure.Lease) error {
		fmt.Println("writing under", lease.Name(), "- a fence for the resource:", !lease.Fence().IsZero())
		again := locker.TryDo(ctx, "report/daily", func(context.Context, *tenure.Lease) error { return nil })
		fmt.Println("somebody else:", errors.Is(again, tenure.ErrHeld))
		return nil
	})
	fmt.Println("ended with", err)
	// Output:
	// writing under report/daily - a fence for the resource: true
	// somebody else: true
	// ended with <nil>
}

// The work's context ends when the lease is lost, and Do says so, whatever the work returns.
func ExampleLocker_Do() {
	ctx := context.Background()
	store := memlock.New(memlock.Options{})
	defer store.Close(ctx)
	locker, err := tenure.New(store, tenure.Options{Logger: quiet()})
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close(ctx)

	err = locker.Do(ctx, "invoice/42", func(ctx context.Context, lease *tenure.Lease) error {
		store.Lose("invoice/42") // as a store does that forgets
		<-ctx.Done()
		fmt.Println("stopped:", errors.Is(context.Cause(ctx), tenure.ErrLost))
		return nil
	})
	fmt.Println("lost:", errors.Is(err, tenure.ErrLost))
	// Output:
	// stopped: true
	// lost: true
}

// At most three at a time, and several names at once.
func ExampleLocker_Slots() {
	ctx := context.Background()
	store := memlock.New(memlock.Options{})
	defer store.Close(ctx)
	locker, err := tenure.New(store, tenure.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close(ctx)

	encoders := locker.Slots(3)
	for range 4 {
		lease, err := encoders.TryAcquire(ctx, "encode")
		if errors.Is(err, tenure.ErrHeld) {
			fmt.Println("all three are taken")
			break
		}
		defer lease.Release(ctx)
	}
	accounts, err := locker.AcquireAll(ctx, "account/7", "account/3")
	fmt.Println(len(accounts), "accounts,", err)
	defer accounts.Release(ctx)
	// Output:
	// all three are taken
	// 2 accounts, <nil>
}
