package servers_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tenurelock/tenure/internal/servers"
)

// session is a psql that is connected.
type session struct {
	pid     int // of the server's process
	input   io.WriteCloser
	command *exec.Cmd
}

func begin(t *testing.T, server *servers.Postgres) *session {
	t.Helper()
	s := &session{command: server.Program("psql", "-XAtq", server.URL(""))}
	var err error
	s.input, err = s.command.StdinPipe()
	must(t, err)
	output, err := s.command.StdoutPipe()
	must(t, err)
	must(t, s.command.Start())
	t.Cleanup(func() {
		_ = s.command.Process.Kill()
		_ = s.command.Wait()
	})
	_, err = io.WriteString(s.input, "select pg_backend_pid();\n")
	must(t, err)
	said, err := bufio.NewReader(output).ReadString('\n')
	must(t, err)
	s.pid, err = strconv.Atoi(strings.TrimSpace(said))
	must(t, err)
	return s
}

// ends checks that the session's connection is gone: psql says so at the next statement.
func (s *session) ends(t *testing.T) {
	t.Helper()
	_, err := io.WriteString(s.input, "select 1;\n")
	must(t, err)
	must(t, s.input.Close())
	if err := s.command.Wait(); err == nil {
		t.Errorf("the session %d goes on", s.pid)
	}
}

// sharedMemory gives the id of the server's segment.
func sharedMemory(t *testing.T, server *servers.Postgres) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(server.Dir(), "data", "postmaster.pid"))
	must(t, err)
	return strings.Fields(strings.Split(string(lock), "\n")[6])[1]
}

func exists(t *testing.T, id string) bool {
	t.Helper()
	segments, err := exec.Command("ipcs", "-m").Output()
	must(t, err)
	for line := range strings.Lines(string(segments)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == id {
			return true
		}
	}
	return false
}
