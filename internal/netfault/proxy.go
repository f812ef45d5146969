package netfault

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/netfault/loopback"
)

// Proxy passes TCP connections on to one target. All its methods may be called at any time, from any goroutine.
type Proxy struct {
	t       testing.TB
	target  string
	address string
	up      way
	down    way
	delay   atomic.Int64 // a time.Duration

	connections, roundTrips atomic.Int64

	mu       sync.Mutex // for what follows
	listener net.Listener
	accepted sync.WaitGroup // the goroutine that accepts, and one for each link
	links    map[*link]struct{}

	refusing sync.Mutex // held while the listener is changed
}

// New starts a proxy in front of target, a host and port. When the test ends it cuts what is open and stops.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := loopback.Listen()
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, target: target, address: listener.Addr().String(), links: map[*link]struct{}{}}
	p.up.open()
	p.down.open()
	p.listen(listener)
	t.Cleanup(func() {
		p.Refuse(true)
		p.Cut()
		p.accepted.Wait()
	})
	return p
}

// Address is where clients connect: a host and port that stay the same.
func (p *Proxy) Address() string { return p.address }

// Counts gives the connections that were accepted so far and those that are open, and the bytes that were passed on.
func (p *Proxy) Counts() (connections, open int, bytesUp, bytesDown int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.connections.Load()), len(p.links), p.up.bytes.Load(), p.down.bytes.Load()
}

// RoundTrips is how often a client began to send: at the start of a connection, and after it was sent something. It counts
// what a client waited for if it sends a request only once it has the last answer. A farewell counts too, though nobody
// waits for an answer to it: PostgreSQL's clients send one as they close.
func (p *Proxy) RoundTrips() int64 { return p.roundTrips.Load() }

func (p *Proxy) listen(listener net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = listener
	p.accepted.Go(func() { p.accept(listener) })
}

// accept runs until its listener is closed.
func (p *Proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // the client has gone already, or files are short
			time.Sleep(time.Millisecond)
		default:
			p.serve(listener, client.(*net.TCPConn))
		}
	}
}

// serve starts a link, unless the proxy has begun to refuse meanwhile.
func (p *Proxy) serve(listener net.Listener, client *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != listener {
		reset(client)
		return
	}
	p.connections.Add(1)
	l := &link{proxy: p, client: client, cut: make(chan struct{}), ended: make(chan struct{})}
	p.links[l] = struct{}{}
	p.accepted.Go(func() {
		defer close(l.ended)
		l.run()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.links, l)
	})
}
