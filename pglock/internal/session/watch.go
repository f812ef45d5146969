package session

import (
	"context"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// watcher asks over the main line which waits still wait: that proves them, since a grant is trusted from the last such
// answer. The parker tells its goroutine when it is time.
type watcher struct {
	s *Store

	mu       sync.Mutex
	waiting  map[*claim]*waiting
	attended bool          // the parker has it in view
	due      chan struct{} // has an element when it is time to look; made with the goroutine
}

// waiting is one wait in the server's queue.
type waiting struct {
	line   *line
	lock   lock
	began  driver.Instant
	next   driver.Instant // when to ask
	told   bool           // the watcher of the request has heard that it waits
	judged driver.Instant // when those who hold it were last looked at
	absent driver.Instant // since when the server has not known of the wait, without an answer
}

// firstLook is how long after its beginning a wait is asked about for the first time: most end before.
const firstLook = 50 * time.Millisecond

// interval is how often a wait is asked about: several times in a turn, since each turn begins anew.
func (w *watcher) interval() time.Duration { return max(firstLook, min(w.s.ttl, w.s.opts.Turn)/8) }

// pause is how long to the next question about a wait. One that the server did not know of yet is asked about sooner.
func (w *watcher) pause(at *waiting, now driver.Instant) time.Duration {
	if !at.told {
		return min(w.interval(), max(firstLook, now.Sub(at.began)))
	}
	return w.interval()
}

// judges is how often those for whom somebody waits are looked at: whoever has not moved for a TTL is found within another.
func (w *watcher) judges() time.Duration { return min(w.s.ttl, w.s.opts.Turn) / 4 }

func (w *watcher) begin(c *claim, l *line, wanted lock) {
	now := driver.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting, w.due = make(map[*claim]*waiting), make(chan struct{}, 1)
		w.s.spawn(w.run)
	}
	w.waiting[c] = &waiting{line: l, lock: wanted, began: now, next: now.Add(min(firstLook, w.s.ttl/8)), judged: now}
	if !w.attended {
		w.attended = true
		parking.attend(w)
	}
}

func (w *watcher) end(c *claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, c)
}

// tick wakes the goroutine if a question is due. False: nobody waits.
func (w *watcher) tick(now driver.Instant) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.waiting {
		if !now.Before(at.next) {
			select {
			case w.due <- struct{}{}:
			default:
			}
			break
		}
	}
	w.attended = len(w.waiting) > 0
	return w.attended
}

func (w *watcher) run() {
	for {
		select {
		case <-w.due:
			w.look()
		case <-w.s.context.Done():
			return
		}
	}
}

// look asks about the waits that are due.
func (w *watcher) look() {
	now := driver.Now()
	due := make(map[*claim]*waiting)
	w.mu.Lock()
	for c, at := range w.waiting {
		if !now.Before(at.next) {
			due[c] = at
			at.next = now.Add(w.pause(at, now))
		}
	}
	w.mu.Unlock()
	if len(due) > 0 {
		w.ask(due)
	}
}

// ask asks the server which of the waits still wait.
func (w *watcher) ask(due map[*claim]*waiting) {
	ctx, cancel := context.WithTimeout(w.s.context, min(5*time.Second, w.s.ttl/3))
	defer cancel()
	var pids []int64
	var names []string
	for _, at := range due {
		pids, names = append(pids, at.line.backend.pid), append(names, at.line.backend.name)
	}
	still := make(map[int64]bool)
	main, err := w.s.mainLine(ctx)
	if err != nil {
		return
	}
	sent, err := main.query(ctx, "waiting", [][]byte{wire.AppendInt8s(nil, pids), wire.AppendTexts(nil, names)}, func(values [][]byte) {
		still[wire.ParseInt(values[0])] = true
	})
	if err != nil {
		return
	}
	var old []int64
	for c, at := range due {
		if !w.prove(c, at, still[at.line.backend.pid], sent) {
			continue
		}
		if !at.told {
			at.told = true
			w.tell(ctx, c, at)
		}
		if sent.Sub(at.judged) >= w.judges() {
			at.judged = sent
			old = append(old, at.line.backend.pid)
		}
	}
	if len(old) > 0 {
		_, _ = main.query(ctx, "stuck", [][]byte{wire.AppendInt8s(nil, old)}, nil)
	}
}

// prove notes that a wait was still waiting when the question was sent. One of which the server does not know, and whose
// answer has not come for long, has lost its connection.
func (w *watcher) prove(c *claim, at *waiting, still bool, sent driver.Instant) bool {
	w.mu.Lock()
	current := w.waiting[c] == at
	w.mu.Unlock()
	if !current || !at.began.Before(sent) {
		return false
	}
	if !still {
		if at.absent.IsZero() {
			at.absent = sent
		} else if sent.Sub(at.absent) > w.s.ttl {
			at.line.shut()
		}
		return false
	}
	at.absent = 0
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	c.still = max(c.still, sent)
	return true
}

// tell says for whom a request waits.
func (w *watcher) tell(ctx context.Context, c *claim, at *waiting) {
	report, err := w.s.who(ctx, at.lock)
	if err == nil && len(report.Holders) > 0 {
		c.watch.Queued(&report.Holders[0])
	} else {
		c.watch.Queued(nil)
	}
}
