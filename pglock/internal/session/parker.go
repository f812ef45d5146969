package session

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// parker looks after all lines of the process that are in use, since timers of their own would keep a busy process from its
// work: it gives those that have not been used for a while to their owners, and has callers that have waited for an answer for
// more than a moment look at their contexts. It tells the watchers of waits when it is time to ask.
type parker struct {
	mu       sync.Mutex
	lines    map[*line]struct{}
	watchers map[*watcher]struct{}
	ticks    bool // a timer is set, or goes off
}

// longTicks is after how many ticks a caller that waits for an answer looks up.
const longTicks = 2

var parking = parker{lines: make(map[*line]struct{}), watchers: make(map[*watcher]struct{})}

// watch looks at a line until it is parked, or broken.
func (p *parker) watch(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines[l] = struct{}{}
	p.start()
}

// attend looks after a watcher while somebody waits.
func (p *parker) attend(w *watcher) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers[w] = struct{}{}
	p.start()
}

func (p *parker) start() {
	if !p.ticks {
		p.ticks = true
		time.AfterFunc(parkAfter, p.tick)
	}
}

func (p *parker) tick() {
	p.mu.Lock() // not held below: whoever is woken may want to be looked after again
	lines, watchers := slices.Collect(maps.Keys(p.lines)), slices.Collect(maps.Keys(p.watchers))
	clear(p.lines)
	clear(p.watchers)
	p.mu.Unlock()
	lines = slices.DeleteFunc(lines, (*line).tick)
	now := driver.Now()
	watchers = slices.DeleteFunc(watchers, func(w *watcher) bool { return !w.tick(now) })
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range lines {
		p.lines[l] = struct{}{}
	}
	for _, w := range watchers {
		p.watchers[w] = struct{}{}
	}
	if p.ticks = len(p.lines)+len(p.watchers) > 0; p.ticks {
		time.AfterFunc(parkAfter, p.tick)
	}
}

// tick sees to a line. True: it need not be watched until its owner says so.
func (l *line) tick() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rouse(l.queue)
	l.rouse(l.flying)
	if l.inline {
		if l.reads++; l.reads == longTicks {
			l.link.Interrupt()
		}
	}
	switch {
	case l.broken != nil || l.parked:
		return true
	case l.busy || l.idle() < parkAfter:
		return false
	}
	l.busy, l.handed = true, true
	l.nudge()
	return false // until it is parked: somebody may queue before its owner looks
}

// rouse has callers that have waited for long enough look up.
func (l *line) rouse(asks []*ask) {
	for _, a := range asks {
		if a.waited++; a.waited == longTicks {
			a.done <- false
		}
	}
}
