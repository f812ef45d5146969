package session

import (
	"sync"
	"time"
)

// parker hands lines that have not been used for a while to their owners, for all lines of the process: a timer for each
// would keep a busy process from its work.
type parker struct {
	mu    sync.Mutex
	lines map[*line]struct{}
	ticks bool
}

var parking = parker{lines: make(map[*line]struct{})}

// watch looks at a line until it is parked, or broken.
func (p *parker) watch(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines[l] = struct{}{}
	if !p.ticks {
		p.ticks = true
		time.AfterFunc(parkAfter, p.tick)
	}
}

func (p *parker) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.lines {
		if l.park() {
			delete(p.lines, l)
		}
	}
	if p.ticks = len(p.lines) > 0; p.ticks {
		time.AfterFunc(parkAfter, p.tick)
	}
}

// park gives a line that is not used to its owner. True: it need not be watched until its owner lets go of it.
func (l *line) park() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.broken != nil || l.parked || l.handed:
		return true
	case l.busy || l.idle() < parkAfter:
		return false
	}
	l.busy, l.handed = true, true
	l.nudge()
	return true
}
