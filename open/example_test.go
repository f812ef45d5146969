package open_test

import (
	"context"
	"fmt"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/open"
)

func ExampleStore() {
	ctx := context.Background()
	store, err := open.Store(ctx, "memory:", open.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close(ctx)
	locker, err := tenure.New(store, tenure.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(locker.TryDo(ctx, "report/daily", func(context.Context, *tenure.Lease) error {
		fmt.Println("alone")
		return nil
	}))
	// Output:
	// alone
	// <nil>
}
