package locktest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/internal/process"
)

// child is another process with the same store: this test binary, run again.
type child struct {
	t     *trial
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // what it says; closed when it ends
}

// startup is how long a process may take to start and open the store on a machine that is busy with tests.
const startup = 30 * time.Second

func (t *trial) child(ttl time.Duration) *child {
	t.want(os.Getenv(childAddress) == "", "a child was told to start a child: TestMain must call locktest.Main")
	binary, err := os.Executable()
	t.no(err, "find the test binary")
	c := &child{t: t, cmd: exec.Command(binary, "-test.run=^$"), lines: make(chan string, 16)}
	c.cmd.Env = append(os.Environ(), childAddress+"="+t.address(ttl), childTTL+"="+ttl.String())
	c.cmd.Stderr = os.Stderr
	c.in, err = c.cmd.StdinPipe()
	t.no(err, "start a child")
	out, err := c.cmd.StdoutPipe()
	t.no(err, "start a child")
	t.no(c.cmd.Start(), "start a child")
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	t.after = append(t.after, func() {
		_ = c.in.Close()
		_ = c.cmd.Process.Kill() // also when it is stopped
		for range c.lines {      // nobody listens any more
		}
		<-read
		_ = c.cmd.Wait() // that it was killed is no news
	})
	return c
}

// tell gives an order.
func (c *child) tell(format string, args ...any) {
	_, err := fmt.Fprintf(c.in, format+"\n", args...)
	c.t.no(err, "tell a child")
}

// says waits for a line that begins so, and gives the rest of it.
func (c *child) says(word string, within time.Duration) string {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			c.t.want(ok, "a child ended instead of saying %q: does TestMain call locktest.Main?", word)
			if said, rest, _ := strings.Cut(line, " "); said == word {
				return rest
			}
			c.t.want(strings.HasPrefix(line, "waits"), "a child said %q instead of %q", line, word)
		case <-timer.C:
			c.t.failf("a child did not say %q within %v", word, within)
		}
	}
}

// holds has the child acquire a free name.
func (c *child) holds(name string) tenure.Token {
	c.tell("acquire %s", name)
	token, err := tenure.ParseToken(c.says("held", startup))
	c.t.no(err, "read a child's token")
	return token
}

// waits has the child wait for a name that is held.
func (c *child) waits(name string) {
	c.tell("acquire %s", name)
	c.says("waits", startup)
}

// kill kills the child, and returns when it is gone.
func (c *child) kill() {
	c.t.no(c.cmd.Process.Kill(), "kill a child")
	for range c.lines { // until the kernel has closed what it had
	}
}

// stop returns once the child stands.
func (c *child) stop() { c.t.no(process.Stop(c.cmd.Process.Pid), "stop a child") }

func (c *child) resume() { c.t.no(process.Continue(c.cmd.Process.Pid), "let a child go on") }
