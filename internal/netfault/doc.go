// Package netfault is a TCP proxy whose faults tests set: cut connections, refused ones, partitions, delays, answers that get
// lost. It knows no protocol, so that it stands before any server.
//
//	proxy := netfault.New(t, server.Address())
//	… connect to proxy.Address() …
//	proxy.Drop(true, true) // a partition
//	…
//	proxy.Heal()
//
// Up is the way from the client to the server, down the way back. Each method's effect is complete when it returns: after
// Drop no byte passes any more, after Cut no connection is open.
//
// What differs from a real network: the proxy's system acknowledges what it takes, so neither side sees unacknowledged
// bytes. During Drop a connection can be made, and writes succeed until the buffers on the way are full; TCP's own timeouts
// and keep-alives notice nothing. What a test learns is what a client does that gets no answer.
package netfault
