package session

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/pglock/internal/connect"
)

// halting is a socket of a process that comes to a stop in the middle of sending.
type halting struct {
	net.Conn
	halt   chan struct{} // closed: the next write stops after its first message and a piece of the second
	closed chan struct{}
	once   sync.Once
}

func (h *halting) Write(b []byte) (int, error) {
	select {
	case <-h.halt:
	default:
		return h.Conn.Write(b)
	}
	first := 1 + int(binary.BigEndian.Uint32(b[1:]))
	if n, err := h.Conn.Write(b[:min(len(b), first+3)]); err != nil {
		return n, err
	}
	<-h.closed
	return 0, net.ErrClosed
}

func (h *halting) Close() error {
	h.once.Do(func() { close(h.closed) })
	return h.Conn.Close()
}

const clientWait = "select count(*) from pg_stat_activity where pid = $1 and state = 'active' and wait_event = $2"

// stopInMidMessage gives a holder of a name, and what has it stop.
func stopInMidMessage(t *testing.T, url, name string) (stop func()) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	halt := make(chan struct{})
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return &halting{Conn: conn, halt: halt, closed: make(chan struct{})}, err
	}
	s := startConfig(t, config, ttl(brief))
	c := s.take(t, name)
	pid, v := s.pid(t), look(t, url)
	go func() { // from the stop on it comes to no end before the session is closed
		for c.renew() == nil {
			time.Sleep(brief / 10)
		}
	}()
	return func() {
		close(halt)
		until(t, prompt, "the backend reads", func() bool { return v.count(clientWait, pid, "ClientRead") == 1 })
	}
}

// TestH69StoppedInMidMessage: such a session is not idle, so that no timeout of the server ends it; a waiter does.
func TestH69StoppedInMidMessage(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*Options){
		"of the same TTL": ttl(brief),
		// Such waits are renewed more often than a TTL passes.
		"of a long TTL": func(o *Options) { o.TTL, o.Turn = time.Hour, brief/4 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := server.Database(t)
			other, stop := start(t, url, set), stopInMidMessage(t, url, "x")
			w := other.caller(t, "x").waits(t.Context())
			stop()
			w.gotBy(time.Now().Add(2*brief), "a holder that stopped in the middle of a message")
			w.releases()
		})
	}
}

// TestH69FullSocket: a holder that does not read what it is sent.
func TestH69FullSocket(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	other := start(t, url, ttl(brief))
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := connect.New(config, nil).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Socket.Close()
	k, err := lockOf(other.caller(t, "x").req.Key, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "select pg_advisory_lock($1)", k.bits); err != nil {
		t.Fatal(err)
	}
	w := other.caller(t, "x").waits(t.Context())
	if err := other.settle(t.Context(), conn, applicationName(other.ttl, other.info.Session, 99), false); err != nil { // as a main line has it
		t.Fatal(err)
	}
	// A query whose answer nobody reads.
	query := append([]byte("select repeat('x', 1000) from generate_series(1, 1000000)"), 0)
	message := binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(len(query)+4))
	if _, err := conn.Socket.Write(append(message, query...)); err != nil {
		t.Fatal(err)
	}
	v := look(t, url)
	until(t, prompt, "the backend writes", func() bool { return v.count(clientWait, conn.PgConn().PID(), "ClientWrite") == 1 })
	w.gotBy(time.Now().Add(2*brief), "a holder that does not read")
	w.releases()
}
