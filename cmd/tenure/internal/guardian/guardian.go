//go:build linux || darwin

package guardian

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure/cmd/tenure/internal/self"
)

// patience bounds how long the wrapper waits for a guardian that does not react. A guardian that is stopped, or a machine
// that swaps, must not stop the wrapper from keeping its own deadlines.
const patience = 2 * time.Second

// Guardian is the wrapper's side. Its methods are for one goroutine; it has two of its own, which Dismiss joins.
type Guardian struct {
	conn  *net.UnixConn
	pid   int
	acks  chan struct{}
	ended chan struct{}
	code  int // its exit status, once ended is closed
	own   sync.WaitGroup
}

// Start starts a guardian. From TERM to KILL it will leave a group the given time.
func Start(kill time.Duration) (*Guardian, error) {
	ours, theirs, err := self.SocketPair()
	if err != nil {
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	defer self.Close(theirs)
	conn, err := connection(ours)
	if err != nil {
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	pid, err := launch(theirs)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	g := &Guardian{conn: conn, pid: pid, acks: make(chan struct{}, 16), ended: make(chan struct{})}
	g.own.Go(g.listen)
	g.own.Go(g.wait)
	return g, g.send(message{grace, int64(kill)})
}

// connection makes a socket ready for deadlines.
func connection(fd int) (*net.UnixConn, error) {
	file := os.NewFile(uintptr(fd), "guardian")
	defer func() { _ = file.Close() }() // what follows has a duplicate
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}

// launch starts the process in a session of its own, with nothing of the user's open: neither the terminal, nor a pipe
// whose reader waits for its end, nor a directory on a file system to be unmounted.
func launch(socket int) (pid int, err error) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	defer self.Close(null)
	var env []string
	for _, name := range []string{"GOCOVERDIR", "GORACE"} { // for tests; everything else may be a secret
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return self.Start(self.Guardian, []string{strconv.Itoa(socket)}, [3]int{null, null, null}, []int{socket},
		syscall.ProcAttr{Dir: "/", Env: env, Sys: &syscall.SysProcAttr{Setsid: true}})
}

// PID is the guardian's process id.
func (g *Guardian) PID() int { return g.pid }

// Hold gives it descriptors in place of those before, and closes ours. It is acknowledged.
func (g *Guardian) Hold(fds []int) error {
	defer held(fds).drop()
	if len(fds) > maxDescriptors {
		return fmt.Errorf("a grant that depends on %d descriptors: a guardian can hold %d", len(fds), maxDescriptors)
	}
	if err := g.writable(); err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	n, _, err := g.conn.WriteMsgUnix(message{hold, int64(len(fds))}.encode(), rights, nil)
	return sent(n, err)
}

// Watch tells it the process group. It is acknowledged.
func (g *Guardian) Watch(group int) error { return g.send(message{watch, int64(group)}) }

// Deadline tells it when the group must be dead, in place of what was said before.
func (g *Guardian) Deadline(until Instant) error { return g.send(message{deadline, int64(until)}) }

// Acknowledged receives once for every Hold and Watch that the guardian has taken up.
func (g *Guardian) Acknowledged() <-chan struct{} { return g.acks }

// Ended is closed when the guardian's process has ended.
func (g *Guardian) Ended() <-chan struct{} { return g.ended }

// Acted says, once it has ended, whether it ended the group at its deadline.
func (g *Guardian) Acted() bool { return g.code == acted }

// Dismiss tells it that the work is over, whereupon it leaves the group alone and ends, and waits for that. One that does
// not react is killed, so that it cannot act later.
func (g *Guardian) Dismiss() {
	if err := g.send(message{kind: done}); err != nil {
		g.kill()
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-g.ended:
	case <-timer.C:
		g.kill()
	}
	<-g.ended
	_ = g.conn.Close()
	g.own.Wait()
}

// kill goes to the process and no other one: its id is not free before it was waited for, which closes ended.
func (g *Guardian) kill() {
	select {
	case <-g.ended:
	default:
		_ = unix.Kill(g.pid, unix.SIGKILL)
	}
}

func (g *Guardian) send(m message) error {
	if err := g.writable(); err != nil {
		return err
	}
	n, err := g.conn.Write(m.encode())
	return sent(n, err)
}

// writable bounds a write: a guardian that was stopped for long does not read.
func (g *Guardian) writable() error { return g.conn.SetWriteDeadline(time.Now().Add(patience / 10)) }

func sent(n int, err error) error {
	if err == nil && n != messageSize {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("tell the guardian: %w", err)
	}
	return nil
}

// listen reads the acknowledgements, until the connection is closed.
func (g *Guardian) listen() {
	buf := make([]byte, messageSize)
	for {
		if _, err := io.ReadFull(g.conn, buf); err != nil {
			return
		}
		if decode(buf).kind == acknowledged {
			g.acks <- struct{}{}
		}
	}
}

// wait reaps the guardian.
func (g *Guardian) wait() {
	defer close(g.ended)
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(g.pid, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if g.code = broken; err == nil && status.Exited() {
			g.code = status.ExitStatus()
		}
		return
	}
}
