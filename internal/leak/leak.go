// Package leak fails a test run that leaves goroutines behind. It serves the root module, which has no requirements; other
// modules use goleak.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Main runs the tests, then waits up to two seconds for the goroutines that they started to end. Call it from TestMain:
//
//	func TestMain(m *testing.M) { leak.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	if left := Wait(2 * time.Second); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "goroutines were left behind:\n\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// Wait gives the stacks of the goroutines that are left after so long; empty if there are none.
func Wait(patience time.Duration) string {
	for deadline := time.Now().Add(patience); ; {
		left := stray()
		if left == "" || time.Now().After(deadline) {
			return left
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
}

func stray() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var left []string
	for _, stack := range strings.Split(string(stacks), "\n\n")[1:] { // the first is our own
		if !strings.Contains(stack, "testing.(*M)") && !strings.Contains(stack, "os/signal.") && !strings.Contains(stack, "created by runtime.gc") &&
			!strings.Contains(stack, "runtime.ensureSigM") && !strings.Contains(stack, "testing.runFuzz") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
