package mutant

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// Acquire asks for one grant.
func (s *Store) Acquire(ctx context.Context, req *driver.Request) (driver.Grant, error) {
	w := s.w
	sent := driver.Now()
	if ctx.Err() != nil && w.flaw != CancelledTakes {
		return driver.Grant{}, &driver.Fault{Kind: driver.Passing, Err: ctx.Err()}
	}
	if w.plain && w.flaw != UnsupportedGrants && (req.Mode == driver.Shared || len(req.Slots) > 0 || req.OncePer > 0 || req.Gap > 0) {
		return driver.Grant{}, driver.Unsupported("mutant: that")
	}
	q := s.join(req, sent)
	if !req.Wait && w.flaw == TryWaits && q.err != nil {
		time.Sleep(defaultTTL / 2)
	}
	grant, err := s.await(ctx, q)
	if w.flaw == ProofAtAnswer && err == nil {
		time.Sleep(defaultTTL / 20)
		grant.Proof.Sent = driver.Now()
	}
	if w.flaw == ProofByServerClock && err == nil {
		grant.Proof.Sent = driver.Now().Add(time.Hour)
	}
	if ctx.Err() != nil && w.flaw == CancelledTakes && err == nil {
		return driver.Grant{}, &driver.Fault{Kind: driver.Passing, Err: ctx.Err()}
	}
	return grant, err
}

// join queues a request, and answers it at once if nobody is in the way.
func (s *Store) join(req *driver.Request, sent driver.Instant) *waiter {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	q := &waiter{session: s, owner: s.owner(req.Acq), req: *req, sent: sent, woken: make(chan struct{})}
	if req.Holder != nil {
		q.holder = *req.Holder
	}
	q.holder.Session, q.holder.Acq, q.holder.Mode = s.info.Session, req.Acq, req.Mode
	q.holder.Since = time.Now()
	for _, slot := range req.Slots {
		q.keys = append(q.keys, w.key(driver.Ref{Name: slot.Name, Key: slot.Key}))
	}
	if len(q.keys) == 0 {
		q.keys = []string{w.key(req.Ref)}
	}
	if s.isClosed() {
		w.answer(q, driver.Grant{}, closedFault())
		return q
	}
	if w.flaw != Barging {
		w.serve()
	}
	if w.free(q) && w.flaw == ChecksThenSets {
		w.mu.Unlock()
		time.Sleep(time.Millisecond)
		w.mu.Lock()
		w.queue = slices.Insert(w.queue, 0, q)
		w.give(q, 0)
		return q
	}
	behind := w.inTheWay(q)
	if behind == nil && w.flaw == WaitsOnFree && req.Wait {
		w.queue = append(w.queue, q)
		return q
	}
	switch w.flaw {
	case LastInFirstOut:
		w.queue = slices.Insert(w.queue, 0, q)
	case Barging:
		if behind == nil {
			w.queue = slices.Insert(w.queue, 0, q)
			break
		}
		fallthrough
	default:
		w.queue = append(w.queue, q)
	}
	w.serve()
	if q.done {
		return q
	}
	if behind == nil {
		behind = new(driver.Holder)
	}
	if !req.Wait {
		if w.flaw == RefusalUnnamed {
			behind = new(driver.Holder)
		}
		w.answer(q, driver.Grant{}, &driver.HeldError{Holder: *behind})
		w.serve()
		return q
	}
	if w.flaw == QueuedUnnamed {
		behind = nil
	}
	if w.flaw != QueuedSilent {
		w.mu.Unlock()
		req.Watch.Queued(behind)
		w.mu.Lock()
	}
	return q
}

// free says whether nobody holds or awaits what q wants, and no memory is against it.
func (w *world) free(q *waiter) bool {
	return len(w.queue) == 0 && w.admits(q, q.keys[0]) && w.remembered(q) == nil
}

func (w *world) inTheWay(q *waiter) *driver.Holder {
	for _, key := range q.keys {
		if held := w.held[key]; len(held) > 0 {
			holder := held[0].holder
			return &holder
		}
	}
	return nil
}

// await waits for the answer, and asks every quarter of the TTL whether it still waits.
func (s *Store) await(ctx context.Context, q *waiter) (driver.Grant, error) {
	w := s.w
	ask := time.NewTicker(max(q.req.Terms.TTL/4, time.Millisecond))
	defer ask.Stop()
	for {
		select {
		case <-q.wokenOrDone(w):
			if w.flaw == ProofOfArrival && q.err == nil && q.req.Wait {
				time.Sleep(defaultTTL / 20)
				q.grant.Proof.Sent = driver.Now()
			}
			return q.grant, q.err
		case <-ctx.Done():
			return s.leave(ctx, q)
		case <-ask.C:
			asked := driver.Now()
			w.mu.Lock()
			if w.flaw != NobodyDrives {
				w.serve()
			}
			if !q.done && w.flaw != ProofOfWaiting {
				q.sent = asked
			}
			if q.done && w.flaw == LostWakeUp {
				w.mu.Unlock()
				return q.grant, q.err
			}
			w.mu.Unlock()
		}
	}
}

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (q *waiter) wokenOrDone(w *world) <-chan struct{} {
	if !q.req.Wait {
		return closedChannel
	}
	return q.woken
}

// leave takes a waiter out of the queue when its context is over.
func (s *Store) leave(ctx context.Context, q *waiter) (driver.Grant, error) {
	w := s.w
	if w.flaw == CancelsLate {
		time.Sleep(defaultTTL / 2)
	}
	gaveUp := &driver.Fault{Kind: driver.Passing, Err: ctx.Err()}
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.done {
		if w.flaw == GrantKept {
			return driver.Grant{}, gaveUp
		}
		return q.grant, q.err
	}
	switch {
	case w.flaw == Ghost, w.flaw == SlotGhost && len(q.keys) > 1:
		return driver.Grant{}, gaveUp
	case w.flaw == CutsQueue:
		i := slices.Index(w.queue, q)
		for _, behind := range clone(w.queue[i+1:]) {
			w.queue = slices.DeleteFunc(w.queue, func(q *waiter) bool { return q == behind })
		}
	case w.flaw == DoorLeftClosed && q.req.Mode == driver.Exclusive:
		w.doors[q.keys[0]] = true
	}
	w.answer(q, driver.Grant{}, gaveUp)
	w.serve()
	return q.grant, q.err
}

// answer ends a wait.
func (w *world) answer(q *waiter, grant driver.Grant, err error) {
	w.queue = slices.DeleteFunc(w.queue, func(other *waiter) bool { return other == q })
	if q.done {
		return
	}
	grant.Proof.Sent = q.sent
	q.done, q.grant, q.err = true, grant, err
	if w.flaw == LostWakeUp && err == nil {
		return
	}
	close(q.woken)
}

var errAbandoned = errors.New("mutant: abandoned")
