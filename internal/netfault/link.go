package netfault

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// link is one connection through the proxy.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	cut    chan struct{} // closed by cutOff
	once   sync.Once
	ended  chan struct{}
	asking atomic.Bool // the client was the last to send
}

// cutOff ends the link. Its connections are reset by run.
func (l *link) cutOff() { l.once.Do(func() { close(l.cut) }) }

// run passes bytes on until both sides have ended or the link is cut.
func (l *link) run() {
	server := l.dial()
	if server == nil {
		reset(l.client)
		return
	}
	up, down := newPipe(l, &l.proxy.up, l.client, server), newPipe(l, &l.proxy.down, server, l.client)
	up.back, down.back = down, up
	up.heard = func() {
		if !l.asking.Swap(true) {
			l.proxy.roundTrips.Add(1)
		}
	}
	down.heard = func() { l.asking.Store(false) }

	var work, writers sync.WaitGroup
	for _, pipe := range []*pipe{up, down} {
		work.Go(pipe.read)
		writers.Go(pipe.write)
	}
	over := make(chan struct{})
	work.Go(func() { // a reader may wait for bytes that never come
		select {
		case <-l.cut:
			reset(l.client)
			reset(server)
		case <-over:
		}
	})
	writers.Wait()
	close(over)
	select {
	case <-l.cut:
		reset(l.client)
		reset(server)
	default: // each side has been told of the other's end
		_ = l.client.Close()
		_ = server.Close()
	}
	work.Wait()
}

// dial connects to the target once the way up is open; nil if that fails or the link is cut.
func (l *link) dial() *net.TCPConn {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dialed := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-l.cut:
			cancel()
		case <-dialed:
		}
	})
	defer watch.Wait()
	defer close(dialed)
	if !l.proxy.up.pass(l.cut, func() {}) {
		return nil
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", l.proxy.target)
	if err != nil {
		l.proxy.down.end(l.cut, func() {}) // that it was refused is an answer
		return nil
	}
	return server.(*net.TCPConn)
}

// reset closes a connection so that its other side gets a reset, not an end. It may be closed already.
func reset(connection *net.TCPConn) {
	_ = connection.SetLinger(0)
	_ = connection.Close()
}
