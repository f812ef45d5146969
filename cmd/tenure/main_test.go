//go:build linux || darwin

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait for processes most of the time: more of them at once than there are processors.
	if err := flag.Set("test.parallel", strconv.Itoa(beside)); err != nil {
		panic(err)
	}
	// Under nohup the tests' shells would inherit that SIGHUP is ignored, and a shell cannot trap what it found ignored. One for which
	// there is a handler here is the default there.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	goleak.VerifyTestMain(checked{m})
}

// checked stops and removes what the tests share, after them.
type checked struct{ m *testing.M }

func (c checked) Run() (code int) {
	defer func() {
		if built.dir != "" {
			_ = os.RemoveAll(built.dir)
		}
		if shared.server == nil {
			return
		}
		if err := shared.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return c.m.Run()
}

// built are the programs that the tests start, many hundred times: without the race detector, which makes each start slow.
// It watches the same code in the tests of package supervise.
var built struct {
	once           sync.Once
	dir            string
	tenure, ticker string
	err            error
}

func build(t *testing.T) {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "tenure-test"); built.err != nil {
			return
		}
		built.tenure, built.ticker = filepath.Join(built.dir, "tenure"), filepath.Join(built.dir, "ticker")
		for _, program := range [][2]string{{built.tenure, "."}, {built.ticker, "./testdata/ticker"}} {
			if out, err := compile(program[0], program[1]); err != nil {
				built.err = fmt.Errorf("build %s: %w\n%s", program[1], err, out)
				return
			}
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
}

func compile(to, from string) ([]byte, error) {
	cmd := exec.Command("go", "build", "-o", to, from)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // a static program starts sooner
	return cmd.CombinedOutput()
}

// words are what a running program has said.
type words struct {
	mu   sync.Mutex
	said strings.Builder
}

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.Write(b)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.String()
}

// patience bounds every wait for something that must happen.
const patience = 20 * time.Second

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
