package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/schema"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

const (
	// parkAfter is how long a line is unused before its owner listens for the server's farewell.
	parkAfter = 10 * time.Millisecond
	// waitQuantum is how long a wait that is interrupted by its context reads at a time.
	waitQuantum = time.Second
	// batch is the most that one exchange carries: its bytes, and those of the answer, fit into the sockets' buffers.
	batch = 500
)

// line is one connection, and whoever uses it takes turns. A caller that finds it free takes the turn and does its own
// exchange; that is the fast path, without a goroutine's help. Callers that find it taken queue, and the line's owner, a
// goroutine, sends all that has queued in one exchange. Between exchanges the owner listens, so that the end of the session
// is noticed at once.
type line struct {
	s        *Store
	link     *wire.Link
	socket   net.Conn
	backend  backend
	extra    bool           // it waits for one lock, and holds that
	uses     int            // of an extra one: who needs it; guarded by the store's mu, as is freed
	freed    driver.Instant // when nobody needed it any more
	retiring *time.Timer

	wake chan struct{} // has an element when the owner has something to see to
	gone chan struct{} // closed when the owner has gone

	mu       sync.Mutex
	busy     bool // somebody has the turn
	handed   bool // it is the owner's to take
	parked   bool // the owner has it, and listens
	inline   bool // a caller has it, and reads
	reads    int  // ticks that it has read for
	quitting bool
	broken   error
	queue    []*ask
	flying   []*ask // what the owner has sent, and is not answered

	// These are the turn's.
	x     exchange
	keys  map[lock]int // what the session has, and how often
	drawn int64        // the highest number that was drawn here

	sequence atomic.Uint32 // what grants are numbered from; zero: that is not known yet
	high     atomic.Int64  // the ceiling of their numbers, as committed
	raising  atomic.Bool   // somebody sees to a higher one

	lastMu sync.Mutex
	last   driver.Instant // the last exchange that was answered was sent then
}

// backend is a session at the server. A process id is used again, and behind a pooler even with the same start, for another
// client; the application name, in which each line has a number of its own, is nobody else's.
type backend struct {
	pid    int64
	name   string // its application name
	unlock uint32 // the oid of pg_advisory_unlock(bigint), to be called; zero: behind a pooler, which may know of no calls
}

// params tells a backend from all others, for ghost.sql and cancel.sql.
func (b backend) params() [][]byte { return [][]byte{wire.Int8(b.pid), []byte(b.name)} }

// adopt makes a line of the store's, and starts its owner, with mu held.
func (s *Store) adopt(link *wire.Link, socket net.Conn, b backend, n schema.Numbering, extra bool) *line {
	l := &line{
		s: s, link: link, socket: socket, backend: b, extra: extra,
		wake: make(chan struct{}, 1), gone: make(chan struct{}), keys: make(map[lock]int), last: driver.Now(),
	}
	l.x.unlock = b.unlock
	l.numbered(n)
	s.running.Add(1)
	go l.own() // should it break at once, that is noticed after mu has been let go
	return l
}

var (
	// errLeft says that the caller's context ended before its ask was sent: it has no effect.
	errLeft = errors.New("it was not sent in time")
	// errUnanswered says that the caller's context ended before the answer came. The line sees to what comes of it.
	errUnanswered = errors.New("the server has not answered in time")
)

// do asks the line, and waits for the answer until ctx ends: nil means that there is one, with a.err. Otherwise it is
// errLeft or errUnanswered; after the latter the ask is the line's.
//
// A patient ask, one that waits for a lock, is read by its caller however long it takes, so that no goroutine has to wake
// another when it is granted.
func (l *line) do(ctx context.Context, a *ask) error {
	l.mu.Lock()
	switch {
	case l.broken != nil:
		a.err = l.broken
		l.mu.Unlock()
		return nil
	case l.busy:
		a.inline = false // it may be asked for the second time
		l.enqueue(a)
		l.mu.Unlock()
		return l.await(ctx, a)
	}
	l.busy, l.inline, l.reads = true, true, 0
	l.mu.Unlock()
	a.inline = true
	one := [1]*ask{a}
	if err := l.send(one[:]); err != nil {
		l.breaks(err)
		return nil
	}
	if !l.read(ctx, a) {
		return l.await(ctx, a)
	}
	return nil
}

// send begins an exchange. The turn is ours.
func (l *line) send(batch []*ask) error {
	l.x.had = len(l.keys)
	for _, a := range batch { // the server would grant this session what it has already
		switch a.verb {
		case toLock:
			a.again = a.lock.form&sharing != 0 && l.keys[a.lock] > 0
		case toSlot:
			a.slots = slices.DeleteFunc(a.slots, func(s slot) bool { return l.keys[s.lock] > 0 })
		}
	}
	l.x.grants = l.sequence.Load()
	return l.x.send(l.link, batch)
}

// read reads the answer of an exchange with one ask, and says whether it was whole. Otherwise the owner goes on.
func (l *line) read(ctx context.Context, a *ask) bool {
	err := l.readInline(ctx, a)
	switch {
	case errors.Is(err, wire.ErrInterrupted):
		a.inline = false
		l.fly(a)
		l.pass(true)
		return false
	case err != nil:
		l.breaks(err)
		return true
	case l.x.settle():
		a.inline = false // it is not over before it is known what the session has
		l.fly(a)
		l.pass(true)
		return false
	}
	if err := l.complete(); err != nil {
		l.breaks(err)
		return true
	}
	l.pass(false)
	return true
}

// readInline reads until the parker interrupts it, so that a caller returns soon after its context ends, without a deadline
// of its own: those would keep a busy process's scheduler from its work. A wait that is not over by then goes to the expense
// of being interrupted by its context, and reads on.
func (l *line) readInline(ctx context.Context, a *ask) error {
	err := l.link.Collect(&l.x, time.Time{}, 0)
	if a.verb != toWait || !errors.Is(err, wire.ErrInterrupted) {
		return err
	}
	stop := context.AfterFunc(ctx, l.link.Interrupt)
	defer stop()
	for errors.Is(err, wire.ErrInterrupted) && ctx.Err() == nil && l.s.context.Err() == nil {
		err = l.link.Collect(&l.x, time.Now().Add(waitQuantum), waitQuantum/2)
	}
	return err
}

// enqueue puts an ask into the queue, with mu held, and sees to it that the owner looks.
func (l *line) enqueue(a *ask) {
	a.waited = 0
	l.queue = append(l.queue, a)
	if l.parked {
		l.parked = false
		l.link.Interrupt()
	}
}

// later asks without waiting for the answer. It is sent before whatever is asked after it.
func (l *line) later(a *ask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return
	}
	l.enqueue(a)
	if !l.busy {
		l.busy, l.handed = true, true
		l.nudge()
	}
}

func (l *line) await(ctx context.Context, a *ask) error {
	if <-a.done { // to look at a context costs more than most answers take
		return nil
	}
	var closed <-chan struct{}
	if a.verb == toWait { // anything else is answered before a line ends
		closed = l.s.context.Done()
	}
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
	case <-closed:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-a.done:
		return nil
	default:
	}
	if i := slices.Index(l.queue, a); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
		return errLeft
	}
	return errUnanswered
}

// pass gives the turn away: to the owner, if something is left to do or somebody has queued.
func (l *line) pass(unfinished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inline = false
	if unfinished || len(l.queue) > 0 || l.quitting {
		l.handed = true
		l.nudge()
		return
	}
	l.busy = false
}

func (l *line) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// complete hands out the answers of an exchange that is over. The error says that the server and we do not agree on what the
// session has.
func (l *line) complete() (doubt error) {
	l.x.open = false
	l.lastMu.Lock()
	l.last = l.x.sent
	l.lastMu.Unlock()
	before := l.drawn
	l.s.mu.Lock()
	for _, a := range l.x.asks {
		err := l.count(a)
		if err == nil {
			err = l.rises(a, before)
		}
		if err != nil {
			doubt, a.err = err, err
		}
		l.settled(a)
	}
	l.s.mu.Unlock()
	if len(l.x.asks) > 0 && !l.x.asks[0].inline {
		l.landed() // before they are told: what the parker tells them comes first
	}
	for _, a := range l.x.asks {
		if !a.inline {
			a.done <- true
		}
	}
	return doubt
}

// count keeps account of what the session has. A heartbeat comes first in its exchange, so it is compared with what was
// there before.
func (l *line) count(a *ask) error {
	switch {
	case a.verb == toLock && a.err == nil && a.number == 0:
		l.s.ahead.Store(int64(a.at.Sub(a.sent.Time()))) // who is refused may wait next
	case a.verb == toBeat && a.err == nil && (a.number != l.backend.pid || a.locks != int64(l.x.had)):
		return &wire.BrokenError{Err: fmt.Errorf("closed: process %d says that it has %d locks, where process %d has %d of ours",
			a.number, a.locks, l.backend.pid, l.x.had)}
	case a.verb == toUnlock && a.err == nil && !a.ok:
		return &wire.BrokenError{Err: fmt.Errorf("closed: the server says that this session does not have %v, which we had not given back", a.lock.key())}
	case a.granted():
		if a.verb == toSlot {
			a.lock = a.slots[a.slot].lock
		}
		l.keys[a.lock]++
		a.high = l.high.Load()
		if a.at.IsZero() {
			a.at = driver.Now().Add(time.Duration(l.s.ahead.Load())).Time()
		}
	case a.verb == toDraw && a.err == nil:
		l.high.Store(a.high)
	case a.verb == toUnlock && a.err == nil && a.ok:
		if l.keys[a.lock]--; l.keys[a.lock] <= 0 {
			delete(l.keys, a.lock)
		}
	}
	return nil
}

// rises notes a number that was drawn, which must be above all that were drawn before its exchange.
func (l *line) rises(a *ask, before int64) error {
	if a.err != nil || a.number <= 0 || a.verb == toBeat || a.verb == toQuery {
		return nil
	}
	if a.number <= before {
		return &wire.BrokenError{Err: fmt.Errorf("closed: a grant was numbered %d after one was numbered %d: somebody has set the "+
			"sequence tenure.grants back, and tokens may repeat until tenure init --above", a.number, before)}
	}
	l.drawn = max(l.drawn, a.number)
	return nil
}

// fly notes that a caller waits for what it has sent itself.
func (l *line) fly(a *ask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.waited = 0
	l.flying = append(l.flying[:0], a)
}

// landed notes that nobody needs to look up from waiting any more: the answers are there.
func (l *line) landed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying = l.flying[:0]
}

// settled notes an answer, with the store's mu held. If nobody waits for it any more, what was granted is given back.
func (l *line) settled(a *ask) {
	switch {
	case a.claim == nil:
	case a.granted() && l.s.granted(l, a):
		l.giveBack(a.claim)
	default:
		l.s.answered(a.claim, a)
	}
}

// giveBack unlocks what nobody waits for any more. The turn is ours.
func (l *line) giveBack(c *claim) {
	a := newAsk(toUnlock)
	a.claim, a.lock = c, c.lock
	l.mu.Lock()
	l.queue = append(l.queue, a)
	l.mu.Unlock()
}

// breaks ends the line: whoever waits for an answer hears so, and everything that it held is lost. The turn is ours.
func (l *line) breaks(cause error) {
	if broken := (*wire.BrokenError)(nil); l.s.opts.Pooler && errors.As(cause, &broken) {
		broken.Farewell = false // it may be the pooler's own, while the session behind it lives on
	}
	l.mu.Lock()
	l.broken = cause
	queue := l.queue
	l.queue, l.flying, l.inline = nil, nil, false
	l.mu.Unlock()
	l.shut()
	l.s.broke(l, cause)
	if l.x.open {
		l.x.open = false
		for _, a := range l.x.asks {
			a.err = cause
			if !a.inline {
				a.done <- true
			}
		}
	}
	for _, a := range queue {
		a.err = cause
		a.done <- true
	}
	l.nudge()
}

// shut closes the socket below any encryption, as the end of the process would: the farewell of that could hang, and would end
// a session that a duplicate of the socket keeps.
func (l *line) shut() { _ = l.socket.Close() }

// quit ends the line in order, when what was asked before has been answered, and waits for that. If that does not come by
// the end of ctx, the socket is closed.
func (l *line) quit(ctx context.Context) {
	l.mu.Lock()
	l.quitting = true
	if l.parked {
		l.parked = false
		l.link.Interrupt()
	}
	if !l.busy {
		l.busy, l.handed = true, true
	}
	l.nudge()
	l.mu.Unlock()
	select {
	case <-l.gone:
	case <-ctx.Done():
		l.shut() // whoever reads from it, breaks the line
		<-l.gone
	}
}

func (l *line) proved() driver.Instant {
	l.lastMu.Lock()
	defer l.lastMu.Unlock()
	return l.last
}
