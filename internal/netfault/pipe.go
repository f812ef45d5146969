package netfault

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// chunk is what was read at once, or how the reading ended.
type chunk struct {
	bytes []byte
	end   error // io.EOF, or what else
	due   time.Time
}

// pipe is one direction of a link: a goroutine reads and another writes, so that what waits for its time does not keep the
// clock of what comes after it from starting.
type pipe struct {
	link  *link
	way   *way
	from  *net.TCPConn
	to    *net.TCPConn
	back  *pipe  // the other direction
	heard func() // bytes were read
	queue chan chunk
	done  chan struct{} // closed when nothing is written any more, except after a cut
	gone  atomic.Bool   // from was found to be gone when written to
}

func newPipe(l *link, w *way, from, to *net.TCPConn) *pipe {
	return &pipe{link: l, way: w, from: from, to: to, queue: make(chan chunk, 1024), done: make(chan struct{})}
}

func (p *pipe) read() {
	defer close(p.queue)
	for buffer := make([]byte, 32<<10); ; {
		n, err := p.from.Read(buffer)
		due := time.Now().Add(time.Duration(p.link.proxy.delay.Load()))
		if n > 0 {
			p.heard()
			if !p.put(chunk{bytes: append([]byte(nil), buffer[:n]...), due: due}) {
				return
			}
		}
		if err != nil {
			p.put(chunk{end: err, due: due})
			return
		}
	}
}

func (p *pipe) put(c chunk) bool {
	select {
	case p.queue <- c:
		return true
	case <-p.link.cut:
		return false
	}
}

// write delivers until the end of the sending side, or of the one that it delivers to.
func (p *pipe) write() {
	for c := range p.queue {
		switch {
		case !p.await(c.due):
			return
		case c.end != nil:
			p.way.end(p.link.cut, func() {
				if errors.Is(c.end, io.EOF) && !p.gone.Load() {
					_ = p.to.CloseWrite() // the other direction may go on
				} else {
					reset(p.to)
				}
			})
			close(p.done)
			return
		case !p.way.write(p.to, p.link.cut, c.bytes):
			close(p.done)
			p.refused()
			return
		}
	}
}

// refused tells the sending side that nobody takes its bytes any more, after what the other side has sent before.
func (p *pipe) refused() {
	p.back.gone.Store(true)
	select {
	case <-p.back.done:
		p.back.way.end(p.link.cut, func() { reset(p.from) })
	case <-p.link.cut:
	}
	for range p.queue { // until the reader has seen it
	}
}

// await waits until it is time; false if the link is cut before.
func (p *pipe) await(due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.link.cut:
		return false
	}
}
