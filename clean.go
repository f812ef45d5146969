package tenure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

const (
	// cleanBatch is how many owners are cleaned up in one call of the driver.
	cleanBatch = 512
	// minClean is the shortest time between two clean-ups of one owner; it doubles, up to an eighth of the TTL.
	minClean = 20 * time.Millisecond
)

// cleaner takes care that nothing of ours stays in the store behind a lost answer. An owner is cleaned up again and again,
// until a clean-up that was sent no earlier than a TTL after its acquire has been answered: an old request may still be on
// its way until then, and would be granted to nobody.
//
// It has no goroutine of its own while nothing is due: a timer starts it.
type cleaner struct {
	s *session

	mu      sync.Mutex
	left    []*remains
	running bool
	timer   *time.Timer
	armed   driver.Instant // when the timer goes off; zero: it is not set
	failing bool           // the last clean-up failed, and was logged
}

// remains is one owner that the store may still know.
type remains struct {
	driver.Removal
	last  driver.Instant // a clean-up sent from then on is the last one, when it is answered
	next  driver.Instant
	pause time.Duration
	most  time.Duration
	log   *slog.Logger
	after func() // once the first clean-up has ended, one way or another
}

// add cleans up a grant that was lost or not given back, and then lets the next caller of this process in.
func (c *cleaner) add(h *hold, now driver.Instant) {
	c.put(h, now, h.exit)
}

// addUnused cleans up an acquisition that became no lease. Sent is when it was sent, if its answer is missing; zero if the
// store did answer, so that one clean-up is enough.
func (c *cleaner) addUnused(h *hold, sent driver.Instant) {
	last := driver.Now()
	if !sent.IsZero() {
		last = sent.Add(h.req.Terms.TTL)
	}
	c.put(h, last, nil)
}

func (c *cleaner) put(h *hold, last driver.Instant, after func()) {
	r := &remains{
		Removal: driver.Removal{Ref: h.req.Ref, Slots: h.req.Slots},
		last:    last,
		next:    driver.Now(),
		pause:   minClean,
		most:    max(minClean, h.req.Terms.TTL/8),
		log:     h.asker.opts.Logger,
		after:   after,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = append(c.left, r)
	c.arm(r.next)
}

// arm sees to it that run is called at an instant. C.mu is held.
func (c *cleaner) arm(at driver.Instant) {
	if c.running || !c.armed.IsZero() && !at.Before(c.armed) {
		return
	}
	c.armed = at
	pause := max(0, at.Sub(driver.Now()))
	if c.timer == nil {
		c.timer = time.AfterFunc(pause, c.run)
	} else {
		c.timer.Reset(pause)
	}
}

// run cleans up what is due.
func (c *cleaner) run() {
	c.mu.Lock()
	c.armed = 0
	if c.running {
		c.mu.Unlock()
		return
	}
	c.running = true
	for {
		due := c.due(driver.Now())
		if len(due) == 0 {
			break
		}
		c.mu.Unlock()
		c.clean(due)
		c.mu.Lock()
	}
	c.running = false
	if len(c.left) > 0 {
		next := c.left[0].next
		for _, r := range c.left {
			next = min(next, r.next)
		}
		c.arm(next)
	}
	c.mu.Unlock()
}

// due takes up to a batch of what is due off the list.
func (c *cleaner) due(now driver.Instant) (due []*remains) {
	kept := c.left[:0]
	for _, r := range c.left {
		if len(due) < cleanBatch && !now.Before(r.next) {
			due = append(due, r)
		} else {
			kept = append(kept, r)
		}
	}
	clear(c.left[len(kept):])
	c.left = kept
	return due
}

func (c *cleaner) clean(due []*remains) {
	batch := make([]driver.Removal, len(due))
	for i, r := range due {
		batch[i] = r.Removal
	}
	sent := driver.Now()
	ctx, cancel := context.WithTimeout(context.Background(), bound(maxTTL))
	c.call(ctx, batch)
	cancel()
	var failed error
	var again []*remains
	for i, r := range due {
		err := batch[i].Err
		if after := r.after; after != nil {
			r.after = nil
			after()
		}
		if errors.Is(err, driver.ErrClosed) || err == nil && !sent.Before(r.last) {
			continue
		}
		if failed == nil {
			failed = err
		}
		r.next = driver.Now().Add(r.pause)
		if err == nil && r.next.Before(r.last) && r.last.Before(r.next.Add(r.pause)) {
			r.next = r.last // the last one comes as soon as it can be the last
		}
		r.pause = min(2*r.pause, r.most)
		again = append(again, r)
	}
	c.mu.Lock()
	c.left = append(c.left, again...)
	first := failed != nil && !c.failing
	c.failing = failed != nil
	c.mu.Unlock()
	if first {
		due[0].log.Warn("tenure: clean-up in the store failed, trying again", "store", c.s.info.Address, "error", failed)
	}
}

// call is the driver's Abandon, whose panic counts as a failure.
func (c *cleaner) call(ctx context.Context, batch []driver.Removal) {
	defer func() {
		if p := recover(); p != nil {
			for i := range batch {
				batch[i].Err = fmt.Errorf("the driver panicked while cleaning up: %v", p)
			}
		}
	}()
	c.s.store.Abandon(ctx, batch)
}
