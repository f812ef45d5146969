// Package loopback listens on ports of 127.0.0.1 that no outgoing connection is given.
package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Systems number outgoing connections from 32768 (Linux) or 49152 (macOS, Windows) upwards. A server that is down on such a
// port may find it taken when it comes back, and a client that keeps dialing it may end up connected to itself.
const first, end = 15000, 32000

// Listen listens on a random free port below the outgoing ones.
func Listen() (net.Listener, error) {
	var failures error
	for range 50 {
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(end-first)))
		if err == nil {
			return listener, nil
		}
		failures = errors.Join(failures, err)
	}
	return nil, fmt.Errorf("no free loopback port in 50 tries: %w", failures)
}

// Port gives a port that was free a moment ago. Whoever uses it must be ready to find it taken, and ask again.
func Port() (int, error) {
	listener, err := Listen()
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}
