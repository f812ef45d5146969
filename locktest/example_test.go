package locktest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tenurelock/tenure/locktest"
)

// A rule can be checked by itself, which is how to work on a driver that fails it.
func ExampleRule_Check() {
	harness := locktest.Harness{Fresh: freshMemory, TTL: 200 * time.Millisecond}
	for _, rule := range locktest.Rules() {
		if rule.Name == "wait/order" {
			fmt.Println(rule.Says)
			fmt.Println(rule.Check(context.Background(), harness))
		}
	}
	// Output:
	// Waiters of different sessions are granted in the order of their asking.
	// <nil>
}
