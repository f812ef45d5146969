package netfault

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// way is what holds for one direction of all connections.
type way struct {
	bytes atomic.Int64

	// Whoever writes holds it for reading, so that a fault begins between two writes.
	mu      sync.RWMutex
	passes  chan struct{} // closed while bytes pass
	dropped bool
	lost    chan struct{} // not nil while bytes are swallowed; closed once some were
	once    *sync.Once    // closes lost
}

// open is for a new way.
func (w *way) open() {
	w.passes = make(chan struct{})
	close(w.passes)
}

func (w *way) drop(drop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case drop && !w.dropped:
		w.passes = make(chan struct{})
	case !drop && w.dropped:
		close(w.passes)
	}
	w.dropped = drop
}

// lose begins or ends swallowing, and runs meanwhile while nothing is written.
func (w *way) lose(lost chan struct{}, meanwhile func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	meanwhile()
	w.lost, w.once = lost, &sync.Once{}
}

// pass runs deliver while the way is open. If it is not, pass waits until it is or the link is cut, which it reports as
// false.
func (w *way) pass(cut <-chan struct{}, deliver func()) bool {
	for {
		w.mu.RLock()
		if !w.dropped {
			defer w.mu.RUnlock()
			select {
			case <-cut:
				return false
			default:
				deliver()
				return true
			}
		}
		passes := w.passes
		w.mu.RUnlock()
		select {
		case <-passes:
		case <-cut:
			return false
		}
	}
}

// write sends the bytes, or swallows them if that is the fault. It is false if they were not sent and never can be.
func (w *way) write(to *net.TCPConn, cut <-chan struct{}, bytes []byte) bool {
	for len(bytes) > 0 {
		var sent int
		var err error
		if !w.pass(cut, func() {
			if w.lost != nil {
				sent = len(bytes)
				w.once.Do(func() { close(w.lost) })
				return
			}
			// A side that does not read must not keep a fault from beginning.
			if err = to.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err == nil {
				sent, err = to.Write(bytes)
			}
			w.bytes.Add(int64(sent))
		}) {
			return false
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
		bytes = bytes[sent:]
	}
	return true
}

// end runs tell, unless or until that side must not know.
func (w *way) end(cut <-chan struct{}, tell func()) bool {
	for {
		swallowed := false
		if !w.pass(cut, func() {
			if swallowed = w.lost != nil; !swallowed {
				tell()
			}
		}) {
			return false
		}
		if !swallowed {
			return true
		}
		<-cut // the end was an answer too
	}
}
