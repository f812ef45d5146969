package rows

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
)

// maxBatch is how many names go in one statement.
const maxBatch = 256

type kind uint8

const (
	acquiring kind = iota
	renewing
	releasing // and abandoning
	single    // a statement of its own
)

// job is one request on its way: in the queue, then part of a statement, then answered.
type job struct {
	kind  kind
	acq   uint64
	names []string // keys; a job of a batch shares none of them with another one
	last  bool     // is accepted although the session is closing

	asks *question // of acquiring
	ttl  int64     // of renewing, in µs
	sql  string    // of single, with the next two
	args []any     //
	read func(pgx.Rows) error

	// Guarded by the combiner's mutex until done is closed; read only after it, but for sent.
	gone bool           // withdrawn
	sent driver.Instant // zero: still in the queue
	done chan struct{}
	err  error

	// The answer; of acquiring, in asks.
	ours, good bool
}

// combiner sends jobs over the one connection: what arrives while a statement is on its way goes together in the next one.
// Its goroutine lives while there is something to send.
type combiner struct {
	s    *Store
	link link // used by the goroutine alone, and by stop after it

	mu      sync.Mutex
	queue   []*job
	running bool
	closing bool // takes only last jobs
	closed  bool // takes none
	runner  sync.WaitGroup
}

// submit puts jobs into the queue. Each is answered by closing its done, unless it is withdrawn.
func (c *combiner) submit(jobs ...*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range jobs {
		j.done = make(chan struct{})
		if c.closed || c.closing && !j.last {
			j.err = c.s.closedFault()
			close(j.done)
			continue
		}
		c.queue = append(c.queue, j)
	}
	if !c.running && len(c.queue) > 0 {
		c.running = true
		c.runner.Add(1)
		go c.run()
	}
}

// withdraw takes back a job that nobody waits for any more. It gives when it was sent, and zero if it never will be; or
// says that it has been answered.
func (c *combiner) withdraw(j *job) (sent driver.Instant, answered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-j.done:
		return 0, true
	default:
	}
	j.gone = true
	return j.sent, false
}

// do sends jobs and waits for their answers, or until ctx ends. The error is the first job's; each has its own.
func (s *Store) do(ctx context.Context, jobs ...*job) error {
	if err := ctx.Err(); err != nil {
		for _, j := range jobs {
			j.err = &driver.Fault{Kind: driver.Passing, Err: err}
		}
		return jobs[0].err
	}
	s.combine.submit(jobs...)
	for _, j := range jobs {
		select {
		case <-j.done:
		case <-ctx.Done():
			if sent, answered := s.combine.withdraw(j); !answered {
				j.err = unanswered(ctx.Err(), sent) // the combiner leaves a withdrawn job alone
			}
		}
	}
	return jobs[0].err
}

func (c *combiner) run() {
	defer c.runner.Done()
	for {
		c.mu.Lock()
		batch := c.take()
		if len(batch) == 0 {
			c.running = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		c.send(batch)
	}
}

// take takes the oldest job off the queue, with all that can go in the same statement.
func (c *combiner) take() (batch []*job) {
	names, acqs := make(map[string]bool), make(map[uint64]bool)
	fits := func(j *job) bool {
		if len(batch) == 0 {
			return true
		}
		if j.kind != batch[0].kind || j.kind == single || len(names)+len(j.names) > maxBatch || acqs[j.acq] {
			return false
		}
		for _, name := range j.names {
			if names[name] {
				return false // one statement cannot write one row twice
			}
		}
		return true
	}
	kept := c.queue[:0]
	for _, j := range c.queue {
		switch {
		case j.gone:
		case j.asks != nil && j.asks.claim.isAbandoned():
			j.answer(&driver.Fault{Kind: driver.Passing, Err: errAbandoned})
		case fits(j):
			batch = append(batch, j)
			acqs[j.acq] = true
			for _, name := range j.names {
				names[name] = true
			}
		default:
			kept = append(kept, j)
		}
	}
	clear(c.queue[len(kept):])
	c.queue = kept
	return batch
}

// answer ends a job. The mutex is held.
func (j *job) answer(err error) {
	if j.gone {
		return
	}
	j.err = err
	close(j.done)
}

func (c *combiner) answer(batch []*job, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range batch {
		j.answer(err)
	}
}

// send sends one statement, and answers its jobs.
func (c *combiner) send(batch []*job) {
	conn, err := c.link.connect()
	if err != nil {
		c.answer(batch, err)
		return
	}
	channel := c.s.listen.channel()
	sent := driver.Now() // before the first byte
	c.mu.Lock()
	for _, j := range batch {
		j.sent = sent
		if j.asks != nil {
			j.asks.sent, j.asks.listens, j.asks.verdict = sent, channel != "", verdict{}
		}
	}
	c.mu.Unlock()
	sql, args, read := c.s.statement(batch, channel)
	err = c.link.query(conn, sql, args, read)
	if err == nil {
		c.answer(batch, nil)
		return
	}
	fault := classify(err, sent)
	var refused *pgRefusal
	if len(batch) > 1 && errors.As(fault, &refused) && refused.isForOne() {
		// The server has undone all of it, for one name that it cannot bear or one row that somebody sits on. So nothing of an
		// acquire was there when it is sent again; but where its caller has left, its clean-up counts from the first sending.
		for _, j := range batch {
			if !c.isGone(j) {
				c.send([]*job{j})
			}
		}
		return
	}
	c.answer(batch, fault)
}

func (c *combiner) isGone(j *job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return j.gone
}

// stop refuses new jobs, and returns when the goroutine has ended and the connection is closed. The end of the session's
// life cuts both short.
func (c *combiner) stop(ctx context.Context) {
	c.mu.Lock()
	c.closed = true
	for _, j := range c.queue {
		j.answer(c.s.closedFault())
	}
	c.queue = nil
	c.mu.Unlock()
	c.runner.Wait()
	c.link.close(ctx)
}
