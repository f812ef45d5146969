package filelock

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

// part is the test binary once more, playing a part.
type part struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// spawn starts the test binary in a part: see child.
func spawn(t *testing.T, role string, args ...string) *part {
	t.Helper()
	return spawnWith(t, func(*exec.Cmd) {}, role, args...)
}

func spawnWith(t *testing.T, change func(*exec.Cmd), role string, args ...string) *part {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &part{Cmd: exec.Command(self, append([]string{role}, args...)...)}
	p.Env = append(os.Environ(), childEnv+"=1")
	p.Stderr = os.Stderr
	p.in, err = p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	change(p.Cmd)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill() // it may have ended
		_ = p.Wait()
	})
	return p
}

// says waits for a line, which must begin so, and gives the rest.
func (p *part) says(t *testing.T, word string) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), word)
	if !ok {
		t.Fatalf("the other process said %q, not %q (%v)", line, word, err)
	}
	return strings.TrimSpace(rest)
}

// finish lets it end by itself.
func (p *part) finish(t *testing.T) {
	t.Helper()
	_ = p.in.Close() // the process may have ended
	if rest, err := io.ReadAll(p.out); err != nil || len(rest) > 0 {
		t.Fatalf("the other process also said %q (%v)", rest, err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}

// child plays a part in another process. It answers on standard output, and ends at the end of its standard input.
func child(args []string) int {
	var err error
	switch args[0] {
	case "hold": // DIR NAME MODE: waits for the name, and keeps it
		err = childHolds(args[1], args[2], args[3], func() { _, _ = io.Copy(io.Discard, os.Stdin) })
	case "count": // DIR NAME FILE TIMES: appends each grant's number to the file, while it holds
		err = childCounts(args[1], args[2], args[3], args[4])
	default:
		err = childOfThisSystem(args)
	}
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	return 0
}

// said tells the parent that a request waits.
type said struct{}

func (said) Queued(*driver.Holder) { fmt.Println("queued") }
func (said) Asked(string)          {}
func (said) Lost(cause error)      { fmt.Println("lost", cause) }

func childHolds(dir, name, mode string, while func()) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	req := want(name, wait)
	req.Watch = said{}
	if mode == driver.Shared.String() {
		req.Mode = driver.Shared
	}
	grant, err := s.Acquire(context.Background(), req)
	if err != nil {
		return err
	}
	fmt.Println("held", grant.Number)
	while()
	return s.Release(context.Background(), req.Ref)
}

func childCounts(dir, name, path, times string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	for range n {
		req := want(name, wait)
		req.Watch = newWatch()
		grant, err := s.Acquire(context.Background(), req)
		if err != nil {
			return err
		}
		if err := appendLine(path, strconv.FormatInt(grant.Number, 10)); err != nil {
			return err
		}
		if err := s.Release(context.Background(), req.Ref); err != nil {
			return err
		}
	}
	return nil
}

// appendLine reads and writes the whole file, so that two at once would lose a line.
func appendLine(path, line string) error {
	was, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(was, line+"\n"...), 0o600)
}
