package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/netfault/loopback"
	suspend "github.com/tenurelock/tenure/internal/process"
)

// patience is how long a start or a stop may take on a machine that has much else to do.
const patience = 60 * time.Second

// server is what every server has: a folder, a port, a log and, while it runs, a process. What differs is in the functions.
type server struct {
	name    string
	account account
	dir     string // temporary, owned by the account, removed by Close
	port    int
	onDeath syscall.Signal // what the process gets when we die

	configure func() error                    // writes the files that name dir and port
	command   func() *exec.Cmd                // the server in the foreground
	probe     func(ctx context.Context) error // nil once it serves
	cleanup   func() error                    // after it has ended for good, before dir is removed; may be nil

	mu      sync.Mutex
	running *process // nil before the first start; may have ended
}

// makeFolder gives the server its account and folder.
func (s *server) makeFolder() error {
	var err error
	if s.account, err = serverAccount(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "tenure-"+s.name+"-"); err != nil {
		return err
	}
	return s.account.own(s.dir)
}

// write writes a file of the server's folder.
func (s *server) write(path, content string) error {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return err
	}
	return s.account.own(path)
}

// choosePort gives the server a free port and configures it.
func (s *server) choosePort() error {
	var err error
	if s.port, err = loopback.Port(); err != nil {
		return err
	}
	return s.configure()
}

// startAnywhere starts the server on a port of its own. Another process may take the port before the server does, so there
// is more than one try.
func (s *server) startAnywhere() error {
	for tries := 1; ; tries++ {
		if err := s.choosePort(); err != nil {
			return err
		}
		err := s.Start()
		if err == nil || tries == 5 || !strings.Contains(strings.ToLower(s.Log()), "address already in use") {
			return err
		}
	}
}

// Start starts the server, again on its port and in its folder, and returns once it serves. After an error it does not run.
func (s *server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process() != nil {
		return fmt.Errorf("%s runs already", s.name)
	}
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own descriptor
	command := s.command()
	command.Dir, command.Stdout, command.Stderr = s.dir, log, log
	s.account.run(command)
	if s.running, err = begin(command, s.onDeath); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.ready(ctx, s.running); err != nil {
		return fmt.Errorf("start %s: %w; its log ends with:\n%s", s.name, errors.Join(err, s.end(s.running, s.onDeath)), s.logTail())
	}
	return nil
}

// Ready waits until the server accepts connections. It fails when ctx ends or the server does.
func (s *server) Ready(ctx context.Context) error {
	running := s.current()
	if running == nil {
		return fmt.Errorf("%s does not run", s.name)
	}
	return s.ready(ctx, running)
}

func (s *server) ready(ctx context.Context, running *process) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-running.ended:
			return fmt.Errorf("it has ended: %w", errors.Join(running.err, err))
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", errors.Join(ctx.Err(), err))
		case <-tick.C:
		}
	}
}

// stop sends a signal and returns once the process has ended. A server that does not run is no error.
func (s *server) stop(signal os.Signal) error {
	if running := s.current(); running != nil {
		return s.end(running, signal)
	}
	return nil
}

func (s *server) end(running *process, signal os.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := errors.Join(running.signal(signal), running.wait(ctx)); err != nil {
		return fmt.Errorf("stop %s: %w", s.name, err)
	}
	return nil
}

// process is the one that runs; nil if none does. The caller has the lock.
func (s *server) process() *process {
	if s.running == nil {
		return nil
	}
	select {
	case <-s.running.ended:
		return nil
	default:
		return s.running
	}
}

func (s *server) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process()
}

// Port is where the server listens on 127.0.0.1. It stays the same over restarts.
func (s *server) Port() int { return s.port }

// Address is the host and port of the server.
func (s *server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Dir is the server's temporary folder.
func (s *server) Dir() string { return s.dir }

// PID is the server's process id, and 0 when it does not run.
func (s *server) PID() int {
	if running := s.current(); running != nil {
		return running.pid()
	}
	return 0
}

func (s *server) logPath() string { return filepath.Join(s.dir, "log") }

// Log is what the server has written so far, over all its starts.
func (s *server) Log() string {
	log, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(log)
}

func (s *server) logTail() string {
	lines := strings.Split(strings.TrimSpace(s.Log()), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

// Close stops the server at once and removes its folder. More than one Close does no harm.
func (s *server) Close() error {
	if pid := s.PID(); pid != 0 {
		_ = suspend.Continue(pid) // if a test has stopped it, it would not hear the signal
	}
	err := s.stop(s.onDeath)
	if s.cleanup != nil {
		err = errors.Join(err, s.cleanup())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// closeAfter closes the server when the test ends, and shows its log if the test failed.
func (s *server) closeAfter(t testing.TB) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of %s on port %d ends with:\n%s", s.name, s.port, s.logTail())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
