package proof

import (
	"cmp"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// Verb is what an operation does.
type Verb string

// The verbs. Renew, Lost, Lose and Kill are not done by clients: they are what happened to leases.
const (
	Acquire Verb = "acquire" // a lease of Name in Mode; if it was had, Token, trusted Until
	Renew   Verb = "renew"   // the lease of Name with Token is now trusted Until
	Lost    Verb = "lost"    // its holder was told that it is lost
	Release Verb = "release" // it is given back
	Write   Verb = "write"   // Value is written to the guarded register Name under Token
	Read    Verb = "read"    // the register Name has Value, written under Token
	Lose    Verb = "lose"    // the store was made to forget who holds Name, as a store does that breaks its word
	Kill    Verb = "kill"    // all clients whose name begins with Name were killed: they trust in nothing any more
)

// The outcomes that the checks look at. Other words say why an operation failed.
const (
	OK    = "ok"
	Stale = "stale" // a write was refused, since Newest has been seen
)

// Op is one operation of one client, or one event, which returns when it is called.
type Op struct {
	Client string // without spaces and dots
	N      int    // its number, from 1, of those of the client
	Call   Instant
	Return Instant // Never: the outcome is not known

	Verb    Verb
	Name    string
	Mode    driver.Mode
	Token   tenure.Token
	Until   Instant // Never: not known
	Value   string
	Newest  tenure.Token // zero: not known
	Outcome string       // of what has returned
}

// Returned says whether the outcome is known.
func (o *Op) Returned() bool { return o.Return != Never }

// Granted says whether it is an acquisition that ended with a lease.
func (o *Op) Granted() bool {
	return o.Verb == Acquire && o.Returned() && o.Outcome == OK
}

// Before says whether o had returned when next was called. Otherwise the two were under way together, or next came first.
func (o *Op) Before(next *Op) bool { return o.Return < next.Call }

// History is what many clients did, in the order of the calls.
type History []Op

func (h History) sort() {
	slices.SortStableFunc(h, func(a, b Op) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Client, b.Client), cmp.Compare(a.N, b.N))
	})
}

// Merge joins histories that were taken with one clock.
func Merge(histories ...History) History {
	merged := slices.Concat(histories...)
	merged.sort()
	return merged
}

// byName gives the operations that matter for each name, in order, without Kill.
func (h History) byName() map[string][]*Op {
	named := make(map[string][]*Op)
	for i := range h {
		if h[i].Verb != Kill {
			named[h[i].Name] = append(named[h[i].Name], &h[i])
		}
	}
	return named
}

// Recorder takes down what the clients of one process do.
type Recorder struct {
	clock Clock
	// The anchor: one moment on both clocks, of which the history's is read first.
	began   Instant
	beganAt time.Time

	mu      sync.Mutex
	clients []*Client
	sink    io.Writer
	failed  error
}

// NewRecorder makes a recorder with a clock.
func NewRecorder(clock Clock) *Recorder {
	return &Recorder{clock: clock}
}

// anchor lets moments of the past be given on the history's clock. Call it before any Client.
func (r *Recorder) anchor() { r.began, r.beganAt = r.clock(), time.Now() }

// at gives a moment of the past on the history's clock, or one a little before; without an anchor, the present one.
func (r *Recorder) at(moment time.Time) Instant {
	if r.beganAt.IsZero() {
		return r.clock()
	}
	return r.began + Instant(moment.Sub(r.beganAt))
}

// StreamTo has each operation written when it is called, and again when it returns, so that a process that is killed
// leaves its history behind: a call that is not written again never returned. Call it before any Client.
func (r *Recorder) StreamTo(sink io.Writer) { r.sink = sink }

// Client begins the record of one more client. What clients do is kept apart, so that recording orders nothing: a mutex
// that all shared would hide races from the race detector.
func (r *Recorder) Client(name string) *Client {
	c := &Client{recorder: r, name: name}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients = append(r.clients, c)
	return c
}

// History gives what was recorded so far, and the first error of the stream.
func (r *Recorder) History() (History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all History
	for _, c := range r.clients {
		c.mu.Lock()
		for _, op := range c.ops {
			all = append(all, *op)
		}
		c.mu.Unlock()
	}
	all.sort()
	return all, r.failed
}

func (r *Recorder) stream(op *Op) {
	if r.sink == nil {
		return
	}
	line := op.String() + "\n"
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := io.WriteString(r.sink, line); err != nil && r.failed == nil {
		r.failed = err
	}
}

// Client records the operations of one client. It may be used from many goroutines; what they do then counts as done by
// several clients of one name.
type Client struct {
	recorder *Recorder
	name     string

	mu  sync.Mutex
	ops []*Op
}

// Call notes that an operation begins. Until Return, its outcome is not known.
func (c *Client) Call(op Op) *Op {
	c.mu.Lock()
	c.ops = append(c.ops, &op)
	op.Client, op.N = c.name, len(c.ops)
	op.Return, op.Call = Never, c.recorder.clock()
	c.mu.Unlock()
	c.recorder.stream(&op)
	return &op
}

// Return notes that the operation has ended, as outcome fills in.
func (c *Client) Return(op *Op, outcome func(*Op)) {
	now := c.recorder.clock()
	c.mu.Lock()
	outcome(op)
	op.Return = now
	c.mu.Unlock()
	c.recorder.stream(op)
}

// Event notes what happens at this moment.
func (c *Client) Event(op Op) { c.eventAt(op, c.recorder.clock()) }

// eventAt notes what happened at a moment, of which it is heard now.
func (c *Client) eventAt(op Op, at Instant) {
	c.mu.Lock()
	c.ops = append(c.ops, &op)
	op.Client, op.N, op.Call, op.Return = c.name, len(c.ops), at, at
	c.mu.Unlock()
	c.recorder.stream(&op)
}
