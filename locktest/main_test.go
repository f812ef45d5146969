package locktest_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/tenurelock/tenure/locktest"
)

// TestMain also fails the run if the rules leave goroutines behind.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := locktest.Main(m, reopen)
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			os.Exit(code)
		}
		runtime.Gosched()
		runtime.GC() // gives goroutines that are about to end their turn
	}
	stacks := make([]byte, 1<<20)
	fmt.Fprintf(os.Stderr, "goroutines are left over:\n%s\n", stacks[:runtime.Stack(stacks, true)])
	os.Exit(1)
}
