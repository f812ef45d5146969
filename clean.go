package tenure

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

const (
	// cleaners is how many clean-ups are under way at once.
	cleaners = 4
	// cleanBatch is how many owners are cleaned up in one call of the driver.
	cleanBatch = 512
	// minClean is the shortest time between two clean-ups of one owner; it doubles, up to maxClean or an eighth of the TTL.
	minClean = 20 * time.Millisecond
	maxClean = time.Second
)

// errUnanswered is what stands in a batch before the driver has filled it in.
var errUnanswered = errors.New("the driver left it unanswered")

// cleaner takes care that nothing of ours stays in the store behind a lost answer. An owner is cleaned up again and again,
// until a clean-up that was sent no earlier than a TTL after its acquire has been answered: an old request may still be on
// its way until then, and would be granted to nobody.
//
// It has no goroutine of its own while nothing is due: a timer starts it.
type cleaner struct {
	s *session

	mu      sync.Mutex
	left    []*remains
	running int
	timer   *time.Timer
	armed   driver.Instant // when the timer goes off; zero: it is not set
	failing bool           // the last clean-up failed, and was logged
}

// remains is one owner that the store may still know.
type remains struct {
	driver.Removal
	c     *cleaner
	ttl   time.Duration
	last  driver.Instant // a clean-up sent from then on is the last one, when it is answered
	next  driver.Instant
	pause time.Duration
	log   *slog.Logger
	gone  chan struct{} // closed when a clean-up has been answered for the first time

	// Guarded by the cleaner's mutex.
	tried    bool // the first clean-up has ended, one way or another
	answered bool
	after    []func() // to be called when it has
}

// add cleans up a grant that was lost or not given back.
func (c *cleaner) add(h *hold) *remains { return c.put(h, driver.Now(), h.lease.locker.group) }

// addUnused cleans up an acquisition that became no lease. Sent is when it was sent, if its answer is missing; zero if the
// store did answer, so that one clean-up is enough.
func (c *cleaner) addUnused(h *hold, sent driver.Instant) *remains {
	last := driver.Now()
	if !sent.IsZero() {
		last = sent.Add(h.req.Terms.TTL)
	}
	return c.put(h, last, h.asker.group)
}

// put begins a clean-up at once. Close of the group waits for that first one.
func (c *cleaner) put(h *hold, last driver.Instant, g *group) *remains {
	g.keep()
	r := &remains{
		Removal: driver.Removal{Ref: h.req.Ref, Slots: h.req.Slots},
		c:       c,
		ttl:     h.req.Terms.TTL,
		last:    last,
		next:    driver.Now(),
		pause:   minClean,
		log:     h.asker.opts.Logger,
		gone:    make(chan struct{}),
		after:   []func(){g.leave},
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = append(c.left, r)
	c.arm(r.next)
	return r
}

// then calls f once the first clean-up has ended. If the store answered it, nothing of the owner is left there.
func (r *remains) then(f func()) {
	r.c.mu.Lock()
	tried := r.tried
	if !tried {
		r.after = append(r.after, f)
	}
	r.c.mu.Unlock()
	if tried {
		f()
	}
}

// arm sees to it that run is called at an instant. C.mu is held.
func (c *cleaner) arm(at driver.Instant) {
	if !c.armed.IsZero() && !at.Before(c.armed) {
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
	defer c.mu.Unlock()
	c.armed = 0
	for c.running < cleaners {
		due, next := c.due(driver.Now())
		if len(due) == 0 {
			if len(c.left) > 0 {
				c.arm(next)
			}
			return
		}
		c.running++
		go c.work(due) // what else is due does not wait behind a node that hangs
	}
}

func (c *cleaner) work(due []*remains) {
	c.clean(due)
	c.mu.Lock()
	c.running--
	c.mu.Unlock()
	c.run()
}

// due takes a batch of what is due off the list: of one TTL, so that the shortest does not set the bound for all. It also
// tells when the next one is due.
func (c *cleaner) due(now driver.Instant) (due []*remains, next driver.Instant) {
	kept := c.left[:0]
	for _, r := range c.left {
		switch {
		case len(due) < cleanBatch && !now.Before(r.next) && (len(due) == 0 || due[0].ttl == r.ttl):
			due = append(due, r)
			continue
		case len(kept) == 0, r.next.Before(next):
			next = r.next
		}
		kept = append(kept, r)
	}
	clear(c.left[len(kept):])
	c.left = kept
	return due, next
}

func (c *cleaner) clean(due []*remains) {
	batch := make([]driver.Removal, len(due))
	for i, r := range due {
		batch[i] = r.Removal
		batch[i].Err = errUnanswered
	}
	sent := driver.Now()
	ctx, cancel := context.WithTimeout(context.Background(), bound(due[0].ttl))
	c.s.abandon(ctx, batch)
	cancel()
	var failed error
	var calls []func()
	c.mu.Lock()
	for i, r := range due {
		err := batch[i].Err
		calls = append(calls, r.after...)
		r.after, r.tried = nil, true
		if (err == nil || errors.Is(err, driver.ErrClosed)) && !r.answered {
			r.answered = true
			close(r.gone)
		}
		if errors.Is(err, driver.ErrClosed) || err == nil && !sent.Before(r.last) {
			continue
		}
		if err != nil && failed == nil {
			failed = err
		}
		r.again(err)
		c.left = append(c.left, r)
		c.arm(r.next)
	}
	first := failed != nil && !c.failing
	c.failing = failed != nil
	c.mu.Unlock()
	for _, call := range calls {
		call()
	}
	if first {
		log, address := due[0].log, c.s.info.Address
		c.s.teller.tell(func() {
			log.Warn("tenure: clean-up in the store failed, trying again", "store", address, "error", failed)
		})
	}
}

// again says when the next clean-up is. Those of many owners come together, so that they share calls.
func (r *remains) again(err error) {
	now := driver.Now()
	r.next = now.Add(r.pause)
	if share := r.pause / 2; share > 0 {
		r.next += driver.Instant(share) - r.next%driver.Instant(share)
	}
	if err == nil && now.Before(r.last) && !r.next.Before(r.last.Add(-r.pause)) {
		r.next = r.last // the last one comes as soon as it can be the last
	}
	r.pause = min(2*r.pause, max(minClean, min(maxClean, r.ttl/8)))
}
