package session

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/process"
)

// child is another process with a session of its own: this test binary, which locktest.Main has obey.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // what it says; closed when it has ended
}

// spawn starts a child. It dies with the test, and on Linux with this process, even if it is stopped.
func spawn(t testing.TB, url string, ttl time.Duration) *child {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(binary, "-test.run=^$"), lines: make(chan string, 64)}
	c.cmd.Env = append(os.Environ(), "TENURE_LOCKTEST_ADDRESS="+ttl.String()+" "+url, "TENURE_LOCKTEST_TTL="+ttl.String())
	c.cmd.Stderr = os.Stderr
	dieWithUs(c.cmd)
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error)
	go func() { // the thread that starts it stays: its end would be ours to the child
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.lines)
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.kill()
		_ = c.in.Close()
		_ = c.cmd.Wait() // that it was killed is no news
	})
	return c
}

func (c *child) tell(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
}

// says waits for a line that begins so.
func (c *child) says(word string) {
	c.t.Helper()
	for timer := time.NewTimer(6 * prompt); ; {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("a child ended instead of saying %q", word)
			}
			said, _, _ := strings.Cut(line, " ")
			if said == word {
				return
			}
			if said != "waits" {
				c.t.Fatalf("a child said %q instead of %q", line, word)
			}
		case <-timer.C:
			c.t.Fatalf("a child did not say %q", word)
		}
	}
}

func (c *child) holds(name string) { c.t.Helper(); c.tell("acquire %s", name); c.says("held") }
func (c *child) waits(name string) { c.t.Helper(); c.tell("acquire %s", name); c.says("waits") }

// stop returns once the child stands.
func (c *child) stop() {
	c.t.Helper()
	if err := process.Stop(c.cmd.Process.Pid); err != nil {
		c.t.Fatal(err)
	}
}

func (c *child) resume() {
	c.t.Helper()
	if err := process.Continue(c.cmd.Process.Pid); err != nil {
		c.t.Fatal(err)
	}
}

// kill kills the child, if it has not ended.
func (c *child) kill() { _ = c.cmd.Process.Kill() }
