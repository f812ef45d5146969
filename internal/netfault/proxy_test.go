package netfault_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/leak"
	"github.com/tenurelock/tenure/internal/netfault"
)

func TestMain(m *testing.M) { leak.Main(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// target is a server that answers every line with itself, and tells what it got.
type target struct {
	address string
	got     chan string // lines; "end" and "reset" when a connection ends
}

func serve(t *testing.T) *target {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	s := &target{address: listener.Addr().String(), got: make(chan string, 100)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.answer(connection) })
		}
	})
	t.Cleanup(func() {
		must(t, listener.Close())
		running.Wait()
		close(s.got)
	})
	return s
}

func (s *target) answer(connection net.Conn) {
	defer connection.Close()
	for from := bufio.NewReader(connection); ; {
		line, err := from.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF):
			s.got <- "end"
			return
		case err != nil:
			s.got <- "reset"
			return
		}
		s.got <- line
		if line == "leave\n" {
			return
		}
		_, _ = io.WriteString(connection, line)
	}
}

// client is a connection through the proxy.
type client struct {
	*net.TCPConn
	t    *testing.T
	from *bufio.Reader
}

func connect(t *testing.T, proxy *netfault.Proxy) client {
	t.Helper()
	connection, err := net.Dial("tcp4", proxy.Address())
	must(t, err)
	t.Cleanup(func() { connection.Close() })
	return client{connection.(*net.TCPConn), t, bufio.NewReader(connection)}
}

func (c client) send(line string) {
	c.t.Helper()
	_, err := io.WriteString(c, line)
	must(c.t, err)
}

func (c client) expect(want string) {
	c.t.Helper()
	if got, err := c.from.ReadString('\n'); err != nil || got != want {
		c.t.Fatalf("the client gets %q and %v instead of %q", got, err, want)
	}
}

// expectEnd wants nil for an orderly end.
func (c client) expectEnd(want error) {
	c.t.Helper()
	if got, err := io.ReadAll(c.from); len(got) > 0 || !errors.Is(err, want) {
		c.t.Fatalf("the client gets %q and %v instead of an end with %v", got, err, want)
	}
}

// expectSilence for a moment. That nothing comes can only be seen by waiting; what is waited for comes in microseconds.
func (c client) expectSilence() {
	c.t.Helper()
	must(c.t, c.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
	if got, err := c.from.ReadString('\n'); err == nil || !err.(net.Error).Timeout() { //nolint:errorlint // it is none else
		c.t.Fatalf("the client gets %q and %v", got, err)
	}
	must(c.t, c.SetReadDeadline(time.Time{}))
}

func (s *target) expect(t *testing.T, want string) {
	t.Helper()
	if got := <-s.got; got != want {
		t.Fatalf("the server gets %q instead of %q", got, want)
	}
}

func (s *target) expectNothing(t *testing.T) {
	t.Helper()
	if len(s.got) > 0 {
		t.Fatalf("the server gets %q", <-s.got)
	}
}

func TestPassesAndCounts(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	c := connect(t, proxy)
	for range 3 {
		c.send("hello\n")
		server.expect(t, "hello\n")
		c.expect("hello\n")
	}
	must(t, c.CloseWrite())
	server.expect(t, "end")
	c.expectEnd(nil)
	if connections, _, up, down := proxy.Counts(); connections != 1 || up != 18 || down != 18 {
		t.Errorf("%d connections, %d bytes up, %d down", connections, up, down)
	}
	if trips := proxy.RoundTrips(); trips != 3 {
		t.Errorf("%d round trips", trips)
	}
	second := connect(t, proxy)
	second.send("leave\n")
	second.expectEnd(nil)
	if trips := proxy.RoundTrips(); trips != 4 {
		t.Errorf("%d round trips", trips)
	}
}

// TestManyBytes arrive complete and in order, in both directions at once.
func TestManyBytes(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	go func() {
		for range server.got { //nolint:revive // it would fill up
		}
	}()
	c := connect(t, proxy)
	const lines = 20000
	var sender sync.WaitGroup
	sender.Go(func() {
		for i := range lines {
			_, _ = c.Write(append(make([]byte, i%1000), '\n'))
		}
		_ = c.CloseWrite()
	})
	defer sender.Wait()
	for i := range lines {
		line, err := c.from.ReadString('\n')
		if err != nil || len(line) != i%1000+1 {
			t.Fatalf("line %d has %d bytes: %v", i, len(line), err)
		}
	}
	c.expectEnd(nil)
}

// TestResetIsPassedOn, and so is it that nobody listens.
func TestResetIsPassedOn(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	c := connect(t, proxy)
	c.send("hello\n")
	c.expect("hello\n")
	server.expect(t, "hello\n")
	must(t, c.SetLinger(0))
	must(t, c.Close())
	server.expect(t, "reset")

	nobody := netfault.New(t, "127.0.0.1:1")
	connection, err := net.Dial("tcp4", nobody.Address())
	if errors.Is(err, syscall.ECONNRESET) { // the reset has come before the dial was over
		return
	}
	must(t, err)
	client{connection.(*net.TCPConn), t, bufio.NewReader(connection)}.expectEnd(syscall.ECONNRESET)
	must(t, connection.Close())
}
