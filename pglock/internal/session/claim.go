package session

import (
	"fmt"
	"strings"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// claim is one acquisition, from its asking to its end.
type claim struct {
	ref    driver.Ref
	holder *driver.Holder // as the request describes it; nil: not at all
	watch  driver.Watcher
	over   chan struct{} // closed when nothing of it is left on a line that lives

	// Guarded by the store's mu.
	state  claimState
	line   *line // which it is asked of, or held on
	lock   lock  // what it holds, or last asked for
	number int64
	since  int64          // the server's clock, in µs
	proved driver.Instant // the last proof of it was sent then
	still  driver.Instant // of a wait: the last question that was answered "still waiting" was sent then
	listed bool           // it is in tenure.holding
	wanted bool           // its holder has been asked to give it up
	asked  bool           // the line owes an answer
	unlock bool           // the line has been asked to give it back
}

type claimState uint8

const (
	asking claimState = iota
	held
	left // the caller has gone: what is granted is given back
	gone
)

// enter makes a claim of a request. One that asks at once may have the line that it will ask, which spares it another turn at mu:
// the caller then asks that line, whatever has happened to it.
func (s *Store) enter(req *driver.Request, at *line) (*claim, error) {
	c := &claim{ref: req.Ref, watch: req.Watch, holder: req.Holder, line: at, asked: at != nil}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, s.closedFault()
	case req.Acq == 0 || s.claims[req.Acq] != nil:
		return nil, lasting(fmt.Errorf("the acquisition number %d is zero or in use; each request needs its own", req.Acq))
	case len(s.claims) >= s.opts.MaxLocks:
		return nil, passing(fmt.Errorf("this session holds or asks for %d locks, which is its bound (Options.MaxLocks): the server "+
			"keeps all sessions' locks in one table of fixed size (max_locks_per_transaction × max_connections)", len(s.claims)))
	}
	s.claims[req.Acq] = c
	return c, nil
}

// maxText bounds what is kept of a description.
const maxText = 1000

// described gives the holder in a form that the server takes.
func (c *claim) described() (h driver.Holder) {
	if c.holder != nil {
		h = *c.holder
		h.Host, h.Program, h.Note = text(h.Host), text(h.Program), text(h.Note)
	}
	return h
}

// text makes a description one that the server takes.
func text(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "?"), "?")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return s
}

// end ends a claim, with mu held.
func (s *Store) end(c *claim) {
	if c.state == gone {
		return
	}
	c.state = gone
	if s.claims[c.ref.Acq] == c {
		delete(s.claims, c.ref.Acq)
	}
	if c.over != nil {
		close(c.over)
	}
	s.loosen(c.line)
}

// granted notes, with mu held, that a line has a claim's lock. True: nobody waits for it any more, and it must be given back. What was waited
// for is trusted from the last question that was answered "still waiting".
func (s *Store) granted(l *line, a *ask) (orphan bool) {
	c := a.claim
	c.line, c.lock, c.asked = l, a.lock, false
	a.sent = max(a.sent, c.still)
	c.number, c.since, c.proved = a.number, a.at.UnixMicro(), a.sent
	switch c.state {
	case asking:
		c.state = held
		return false
	case left:
		c.unlock = true
	}
	a.orphan = true
	return c.state == left
}

// giveBack has a claim's lock given back, with mu held: before anything that is asked of the line later.
func (s *Store) giveBack(c *claim) {
	if c.unlock {
		return
	}
	c.state, c.unlock = left, true
	s.unlist(c)
	a := newAsk(toUnlock)
	a.claim, a.lock = c, c.lock
	c.line.later(a)
}

// unlist takes a claim off the list of leases, with mu held.
func (s *Store) unlist(c *claim) {
	if !c.listed {
		return
	}
	a := newAsk(toQuery)
	a.statement, a.params = "unlist", [][]byte{[]byte(s.info.Session), wire.Int8(int64(c.ref.Acq))}
	c.line.later(a)
}

// answered notes, with mu held, the answer to a claim's ask that granted nothing: an unlock, or a refusal.
func (s *Store) answered(c *claim, a *ask) {
	switch a.verb {
	case toUnlock:
		s.end(c)
	case toLock, toSlot, toWait:
		if c.asked = false; c.state == left {
			s.end(c)
		}
	}
}

// leave notes that the caller does not wait any more. False: it was granted in the same instant.
func (s *Store) leave(c *claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.state == asking && c.asked:
		c.state = left
		s.cancelWait(c)
	case c.state == asking: // its line broke, and with that it is over
		s.end(c)
	}
	return c.state != held
}

// broke ends everything on a line that broke, and tells the holders. Where the server may not have noticed, its session
// is remembered, to be ended there.
func (s *Store) broke(l *line, cause error) {
	var lost []driver.Watcher
	s.mu.Lock()
	s.ready.CompareAndSwap(l, nil)
	ghost := &ghost{backend: l.backend, until: driver.Now().Add(2*s.ttl + ghostSlack), acqs: make(map[uint64]bool)}
	if l.extra {
		ghost.until = ghost.until.Add(s.opts.Turn) // it may be waiting, and be granted at the end of it
	}
	for _, c := range s.claims {
		if c.line != l {
			continue
		}
		ghost.acqs[c.ref.Acq] = true
		if c.state == held {
			lost = append(lost, c.watch)
		}
		c.asked = false        // no answer will come
		if c.state != asking { // the caller of that one hears of it, and drops it
			s.end(c)
		}
	}
	if s.main == l {
		s.main = nil
	}
	delete(s.extras, l)
	if !saidFarewell(cause) && len(ghost.acqs) > 0 {
		s.noteGhost(ghost)
	}
	s.mu.Unlock()
	for _, w := range lost {
		w.Lost(fmt.Errorf("the session with the server ended: %w", cause))
	}
}
