package quorum

import (
	"context"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/clock"
)

// start sends a request behind, unless the quorum is closed. Each is a goroutine that ends with its answer, and that Close
// waits for.
func (c *Claim) start(s send) bool {
	if !c.quorum.begin(s.op == opRelease) {
		return false
	}
	go func() {
		defer c.quorum.end()
		if c.due(s) {
			c.ask(s)
		}
	}()
	return true
}

// due waits until a request is to be sent, and says whether it still is.
func (c *Claim) due(s send) bool {
	wait := s.at.Sub(clock.Now())
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.quorum.closing:
		return false
	}
}

// ask puts a request to its node. The time-out counts even if the node does not obey it.
func (c *Claim) ask(s send) {
	ctx, cancel := context.WithTimeoutCause(c.quorum.all, c.timeout, errTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.tell(s, Answer{}, context.Cause(ctx)) })
	node := c.quorum.nodes[s.node]
	var a Answer
	var err error
	switch s.op {
	case opAcquire:
		a, err = node.Acquire(ctx, c.lock, s.number)
	case opWriteBack:
		a, err = node.WriteBack(ctx, c.lock, s.number)
	case opRenew:
		a, err = node.Renew(ctx, c.lock)
	case opRelease:
		a, err = node.Release(ctx, c.lock)
	}
	stop()
	if err != nil && ctx.Err() != nil && mayRun(err) {
		err = context.Cause(ctx) // whichever of the two is told first
	}
	c.tell(s, a, err)
}

func (c *Claim) tell(s send, a Answer, err error) {
	c.do(func(now driver.Instant) { c.state.answer(now, s.id, a, err) })
}
