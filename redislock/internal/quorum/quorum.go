package quorum

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Options are the quorum's. The zero value is good.
type Options struct {
	// Timeout bounds each request to a node; a tenth of the claim's TTL, if that is less. 500 ms if zero.
	Timeout time.Duration
}

// Quorum is the nodes, and what is on its way to them.
type Quorum struct {
	nodes   []Node
	timeout time.Duration
	closing chan struct{} // closed by Close
	all     context.Context
	stop    context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	running int           // requests, and clean-ups that are to be sent later
	idle    chan struct{} // closed when nothing runs after Close
}

// New makes a quorum of an odd number of nodes, three at least: with fewer none may fail, and one more than an odd number
// lets no more fail.
func New(nodes []Node, opts Options) (*Quorum, error) {
	if len(nodes) < 3 || len(nodes)%2 == 0 {
		return nil, fmt.Errorf("a quorum of %d nodes: want an odd number, 3 at least", len(nodes))
	}
	if opts.Timeout < 0 {
		return nil, fmt.Errorf("a time-out of %v: want more than zero, or zero for 500 ms", opts.Timeout)
	}
	if opts.Timeout == 0 {
		opts.Timeout = 500 * time.Millisecond
	}
	q := &Quorum{nodes: nodes, timeout: opts.Timeout, closing: make(chan struct{}), idle: make(chan struct{})}
	q.all, q.stop = context.WithCancelCause(context.Background())
	return q, nil
}

// Close refuses new requests, other than those that clean up, and waits until none runs. When ctx ends first, the rest is
// ended; a key that they leave expires. Clean-ups that were to be sent later are not sent.
func (q *Quorum) Close(ctx context.Context) error {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.closing)
		if q.running == 0 {
			close(q.idle)
		}
	}
	q.mu.Unlock()
	defer q.stop(driver.ErrClosed)
	select {
	case <-q.idle:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running == 0 {
		return nil
	}
	return fmt.Errorf("%d requests to nodes were not answered: %w", q.running, context.Cause(ctx))
}

// begin counts a request; end takes it out again. It says no after Close, unless the request cleans up; and after what Close
// waited for has ended, always.
func (q *Quorum) begin(cleansUp bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed && (!cleansUp || q.running == 0) {
		return false
	}
	q.running++
	return true
}

func (q *Quorum) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	if q.closed && q.running == 0 {
		close(q.idle)
	}
}

var errClosed = &driver.Fault{Kind: driver.Lasting, Err: fmt.Errorf("the quorum is %w", driver.ErrClosed)}

// errTimeout is the outcome of a request whose time-out has passed.
var errTimeout = errors.New("no answer in time")
