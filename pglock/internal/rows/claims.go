package rows

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tenurelock/tenure/driver"
)

var (
	errTwice     = errors.New("this acquisition number is in use already")
	errAbandoned = errors.New("the request was abandoned while it waited")
)

// claim is an acquisition of which something may be in the database: asked for, waiting, granted, or not known.
type claim struct {
	acq       uint64
	names     []string // keys of which any may be ours
	watch     driver.Watcher
	granted   bool          // guarded by the claims' mutex
	abandoned chan struct{} // closed by Abandon
	once      sync.Once
}

func (c *claim) abandon() { c.once.Do(func() { close(c.abandoned) }) }

func (c *claim) isAbandoned() bool {
	select {
	case <-c.abandoned:
		return true
	default:
		return false
	}
}

// claims are those of a session, by acquisition number. Close frees what is in here: it could only find it in the table by
// reading all of it.
type claims struct {
	mu     sync.Mutex
	live   map[uint64]*claim // nil: closed
	closed bool
}

// add notes an acquisition before it is sent. The error is nil, or a fault but for ErrClosed, which closed stands for.
func (cs *claims) add(req *driver.Request) (c *claim, closed bool, err error) {
	c = &claim{acq: req.Acq, watch: req.Watch, abandoned: make(chan struct{})}
	if len(req.Slots) == 0 {
		c.names = []string{req.Key}
	}
	for _, slot := range req.Slots {
		c.names = append(c.names, slot.Key)
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch {
	case cs.closed:
		return nil, true, nil
	case cs.live[req.Acq] != nil:
		return nil, false, &driver.Fault{Kind: driver.Lasting, Err: fmt.Errorf("%q, %d: %w", req.Name, req.Acq, errTwice)}
	}
	cs.live[req.Acq] = c
	return c, false, nil
}

// grant notes that one of a claim's names is ours.
func (cs *claims) grant(c *claim, name string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.granted, c.names = true, []string{name}
}

// remove forgets an acquisition of which the database has nothing any more.
func (cs *claims) remove(acq uint64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.live, acq)
}

func (cs *claims) find(acq uint64) *claim {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.live[acq]
}

// close refuses new claims and gives those that there are. False: it was closed before.
func (cs *claims) close() (left []*claim, first bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		return nil, false
	}
	cs.closed = true
	for _, c := range cs.live {
		left = append(left, c)
	}
	return left, true
}

// isGranted says whether somebody has to be told of a claim's end, and under which names it may be in the table.
func (cs *claims) state(c *claim) (granted bool, names []string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return c.granted, c.names
}
