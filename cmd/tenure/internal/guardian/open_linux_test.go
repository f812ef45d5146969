package guardian

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The user's terminal, pipes and directories are not kept open, or whoever waits for their end would wait for us.
func TestItKeepsNothingOpen(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = read.Close(), write.Close() }()
	inherited, err := unix.Dup(int(write.Fd())) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t, time.Minute, "echo; exec sleep 60")
	_ = unix.Close(inherited)

	proc := fmt.Sprintf("/proc/%d/", s.guardian.PID())
	links, err := filepath.Glob(proc + "fd/*")
	if err != nil || len(links) < 5 {
		t.Fatalf("%d descriptors: %v", len(links), err)
	}
	for _, link := range append(links, proc+"cwd") {
		what, err := os.Readlink(link)
		switch {
		case err != nil:
			t.Error(err)
		case what == "/dev/null", what == "/", what == s.file.Name(), strings.HasPrefix(what, "anon_inode:"), strings.HasPrefix(what, "socket:"):
		case strings.HasPrefix(what, "/sys/fs/cgroup/"): // Go's own
		default:
			t.Errorf("it has %s open", what)
		}
	}
	session, err := unix.Getsid(s.guardian.PID())
	if err != nil || session != s.guardian.PID() {
		t.Errorf("its session is %d: %v", session, err)
	}
}
