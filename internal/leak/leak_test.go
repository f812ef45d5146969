package leak_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func waitForever(stop <-chan struct{}) { <-stop }

// TestStrayGoroutineIsSeen, and is gone once it has ended.
func TestStrayGoroutineIsSeen(t *testing.T) {
	stop := make(chan struct{})
	go waitForever(stop)
	if left := leak.Wait(0); !strings.Contains(left, "leak_test.go") {
		t.Errorf("a goroutine is left behind, and seen is %q", left)
	}
	close(stop)
	if left := leak.Wait(10 * time.Second); left != "" {
		t.Errorf("nothing is left behind, and seen is %q", left)
	}
}

// TestWaitIsPatient with goroutines that are about to end.
func TestWaitIsPatient(t *testing.T) {
	stop := make(chan struct{})
	time.AfterFunc(5*time.Millisecond, func() { close(stop) })
	go waitForever(stop)
	if left := leak.Wait(10 * time.Second); left != "" {
		t.Errorf("it did not wait for %q", left)
	}
}
