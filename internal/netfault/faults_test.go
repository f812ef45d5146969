package netfault_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/netfault"
)

func TestCut(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	first, second := connect(t, proxy), connect(t, proxy)
	for _, c := range []client{first, second} {
		c.send("hello\n")
		c.expect("hello\n")
		server.expect(t, "hello\n")
	}
	if _, open, _, _ := proxy.Counts(); open != 2 {
		t.Errorf("%d are open", open)
	}
	proxy.Cut()
	if _, open, _, _ := proxy.Counts(); open != 0 {
		t.Errorf("%d are open", open)
	}
	first.expectEnd(syscall.ECONNRESET)
	second.expectEnd(syscall.ECONNRESET)
	server.expect(t, "reset")
	server.expect(t, "reset")
	third := connect(t, proxy)
	third.send("hello\n")
	third.expect("hello\n")
}

func TestRefuse(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	open := connect(t, proxy)
	open.send("hello\n")
	open.expect("hello\n") // it is more than a connection that waits to be accepted
	for range 2 {
		proxy.Refuse(true)
		if _, err := net.Dial("tcp4", proxy.Address()); err == nil {
			t.Error("a connection is made")
		}
		open.send("hello\n")
		open.expect("hello\n")
		proxy.Refuse(true)
		proxy.Refuse(false)
		c := connect(t, proxy)
		c.send("hello\n")
		c.expect("hello\n")
	}
}

// TestDrop of each way: what is sent then arrives after Heal, in order, and the end of a side too.
func TestDrop(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	c := connect(t, proxy)
	c.send("1\n")
	server.expect(t, "1\n")
	c.expect("1\n")

	proxy.Drop(true, false)
	c.send("2\n")
	c.expectSilence()
	server.expectNothing(t)
	proxy.Drop(false, true) // the way up is open again
	server.expect(t, "2\n")
	c.send("3\n")
	server.expect(t, "3\n")
	c.expectSilence()
	proxy.Heal()
	c.expect("2\n")
	c.expect("3\n")

	proxy.Drop(true, true)
	late := connect(t, proxy)
	late.send("late\n")
	c.send("4\n")
	must(t, c.CloseWrite())
	c.expectSilence()
	late.expectSilence()
	server.expectNothing(t)
	proxy.Drop(true, true)
	proxy.Heal()
	c.expect("4\n")
	c.expectEnd(nil)
	late.expect("late\n")
}

// TestDropHidesAnEnd of the server from the client.
func TestDropHidesAnEnd(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	c := connect(t, proxy)
	proxy.Drop(false, true)
	c.send("leave\n")
	server.expect(t, "leave\n")
	c.expectSilence()
	proxy.Heal()
	c.expectEnd(nil)
}

// TestCutDuringDrop reaches both sides, with connections of every kind.
func TestCutDuringDrop(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	c := connect(t, proxy)
	c.send("1\n")
	c.expect("1\n")
	server.expect(t, "1\n")
	proxy.Drop(true, true)
	c.send("2\n")
	late := connect(t, proxy)
	for connections := 0; connections < 2; { // until it is accepted, it is nobody's to cut
		connections, _, _, _ = proxy.Counts()
	}
	proxy.Cut()
	c.expectEnd(syscall.ECONNRESET)
	late.expectEnd(syscall.ECONNRESET)
	server.expect(t, "reset")
	server.expectNothing(t)
}

// TestDropWhileASideDoesNotRead: a full way neither keeps a fault from beginning nor a cut from ending it.
func TestDropWhileASideDoesNotRead(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	c := connect(t, proxy)
	go func() {
		for range server.got { //nolint:revive // it would fill up
		}
	}()
	must(t, c.SetWriteDeadline(time.Now().Add(300*time.Millisecond)))
	line := append(make([]byte, 1<<16), '\n')
	for { // until all buffers are full: nobody reads the answers
		if _, err := c.Write(line); err != nil {
			break
		}
	}
	proxy.Drop(true, true)
	proxy.Heal()
	proxy.Cut()
}

// TestDelay holds each way back once, not each chunk after the other.
func TestDelay(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	c := connect(t, proxy)
	const delay = 20 * time.Millisecond
	proxy.Delay(delay)
	began := time.Now()
	for range 50 {
		c.send("hello\n")
	}
	for range 50 {
		c.expect("hello\n")
	}
	if took := time.Since(began); took < 2*delay {
		t.Errorf("it took %v", took)
	}
	proxy.Delay(time.Hour)
	c.send("hello\n")
	proxy.Cut() // does not wait
}

// TestLoseAnswers has the server do what the client does not hear of, until Cut.
func TestLoseAnswers(t *testing.T) {
	server := serve(t)
	proxy := netfault.New(t, server.address)
	c, leaves := connect(t, proxy), connect(t, proxy)
	lost := proxy.LoseAnswers()
	late := connect(t, proxy)
	for _, c := range []client{c, late} {
		c.send("do\n")
		server.expect(t, "do\n")
	}
	leaves.send("leave\n")
	server.expect(t, "leave\n")
	<-lost
	for _, c := range []client{c, leaves, late} {
		c.expectSilence()
	}
	proxy.Cut()
	for _, c := range []client{c, leaves, late} {
		c.expectEnd(syscall.ECONNRESET)
	}
	again := connect(t, proxy)
	again.send("hello\n")
	again.expect("hello\n")
}
