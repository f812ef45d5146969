package tenure

import (
	"context"
	"fmt"
	"sync"
)

// group is what one Close closes: the Lockers that are copies of each other, their calls and their leases.
type group struct {
	closing context.Context // over when Close has begun, with cause ErrClosed
	close   context.CancelCauseFunc

	mu     sync.Mutex
	busy   int           // calls under way, and leases
	idle   chan struct{} // made by a Close that waits for busy to be 0
	leases *Lease
}

func newGroup() *group {
	g := &group{}
	g.closing, g.close = context.WithCancelCause(context.Background())
	return g
}

func (g *group) closed() bool { return g.closing.Err() != nil }

// enter counts a call in, or refuses it. A call that ends with a lease passes its count on to that.
func (g *group) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed() {
		return fmt.Errorf("tenure: this Locker is %w", ErrClosed)
	}
	g.busy++
	return nil
}

// keep counts a second lease of one call in.
func (g *group) keep() {
	g.mu.Lock()
	g.busy++
	g.mu.Unlock()
}

// leave counts a call out.
func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.out()
}

func (g *group) out() {
	if g.busy--; g.busy == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// add lists a lease, which has its call's count from now on. It says false if the group is closed: no lease is begun then.
func (g *group) add(l *Lease) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed() {
		return false
	}
	if l.next = g.leases; l.next != nil {
		l.next.prev = l
	}
	g.leases = l
	return true
}

// remove takes a lease off the list, and its count.
func (g *group) remove(l *Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.prev != nil {
		l.prev.next = l.next
	} else if g.leases == l {
		g.leases = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
	l.prev, l.next = nil, nil
	g.out()
}

// wait returns when nothing is busy, or ctx is over.
func (g *group) wait(ctx context.Context) error {
	g.mu.Lock()
	if g.busy == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *group) live() []*Lease {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []*Lease
	for l := g.leases; l != nil; l = l.next {
		all = append(all, l)
	}
	return all
}

// Close ends the Locker and its copies: new callers are refused, those who wait get [ErrClosed] at once, and leases that
// are held go on until they are released, or ctx ends. Those that are left then are lost, and Close returns an error that
// counts them; each name is given back when its holder calls Release, or when its last proof runs out. Close the store
// after it.
func (l *Locker) Close(ctx context.Context) error {
	g := l.group
	g.mu.Lock() // no lease is added beside it
	g.close(ErrClosed)
	g.mu.Unlock()
	l.s.queue.Evict(func(c *call) bool { return c.locker.group == g })
	if err := g.wait(ctx); err != nil {
		cut := 0
		for _, lease := range g.live() {
			if lease.hold.cut(lease, errCut) {
				cut++
			}
		}
		if cut > 0 {
			return fmt.Errorf("tenure: %d leases were held when the Locker was closed, and are lost: %w", cut, err)
		}
		return fmt.Errorf("tenure: calls were under way when the Locker was closed: %w", err)
	}
	return l.s.renewer.quiet(ctx)
}
