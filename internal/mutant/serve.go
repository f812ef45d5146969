package mutant

import (
	"slices"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// expire drops the holders whose time is up.
func (w *world) expire() {
	if w.flaw == NeverExpires || w.plain && w.flaw != BreaksStale {
		return
	}
	now := driver.Now()
	for key, held := range w.held {
		for _, g := range clone(held) {
			if now.Before(g.expires) {
				continue
			}
			w.drop(key, g)
			if w.flaw == ExpiredNumber {
				delete(w.numbers, key)
			}
		}
	}
}

// serve grants whatever can be granted, in the order of the asking.
func (w *world) serve() {
	w.expire()
	blocked := make(map[string]bool)
	for _, q := range clone(w.queue) {
		keys := q.keys
		if w.flaw == SlotFirstOnly && q.req.Wait {
			keys = keys[:1]
		}
		for i, key := range keys {
			if q.done || blocked[key] && !w.mayPass(q) || !w.admits(q, key) {
				continue
			}
			if err := w.remembered(q); err != nil {
				w.answer(q, driver.Grant{}, err)
				continue
			}
			w.give(q, i)
			if w.flaw == ReadersOneByOne && q.req.Wait {
				blocked[key] = true
			}
		}
		if !q.done {
			for _, key := range q.keys {
				blocked[key] = true
			}
		}
	}
}

// mayPass is about those who pass a waiter.
func (w *world) mayPass(q *waiter) bool {
	return w.flaw == WriterStarves && q.req.Mode == driver.Shared
}

// admits says whether q may come to those who hold a key.
func (w *world) admits(q *waiter, key string) bool {
	held := w.held[key]
	if w.flaw == DoorLeftClosed && w.doors[key] && q.req.Mode == driver.Shared {
		return false
	}
	if w.flaw == AllWoken && q.req.Wait && len(held) > 0 && held[0].holder.Note == wokenNote {
		return true
	}
	if w.flaw == SlotTwice && len(q.keys) > 1 {
		return !slices.ContainsFunc(held, func(g *grant) bool { return g.session == q.session })
	}
	if w.flaw == ForgetsLocal {
		return !slices.ContainsFunc(held, func(g *grant) bool { return g.session != q.session })
	}
	for _, g := range held {
		switch {
		case g.mode == driver.Exclusive && w.flaw == ReaderBesideWriter && q.req.Mode == driver.Shared:
		case g.mode == driver.Exclusive || q.req.Mode == driver.Exclusive:
			return false
		case w.flaw == OneReaderASession && g.session == q.session:
			return false
		}
	}
	return true
}

const wokenNote = "woken"

// give grants the i-th of the keys that q wants.
func (w *world) give(q *waiter, i int) {
	key := q.keys[i]
	now := time.Now()
	g := &grant{
		session: q.session, owner: q.owner, mode: q.req.Mode, holder: q.holder, watch: q.req.Watch,
		ttl: q.req.Terms.TTL, sent: q.sent,
	}
	if w.flaw == UnsupportedGrants {
		g.mode = driver.Exclusive
	}
	g.expires = driver.Now().Add(g.ttl)
	if w.flaw == ExpiresEarly {
		g.expires = driver.Now().Add(g.ttl / 2)
	}
	g.holder.Number, g.holder.Since = w.number(q, key, now), now
	if w.flaw == AllWoken && q.req.Wait {
		g.holder.Note = wokenNote
	}
	w.held[key] = append(w.held[key], g)
	w.last[key] = g.holder
	w.order = append(w.order, key)
	if w.flaw == Evicts && len(w.held) > 200 {
		first := w.order[0]
		w.order = w.order[1:]
		delete(w.held, first)
	}
	if (q.req.OncePer > 0 || q.req.Gap > 0) || w.flaw == OrdinaryRemembered {
		w.runs[key] = g.holder
	}
	time.AfterFunc(g.ttl, w.tick)
	valid := g.ttl
	if w.flaw == ValidRoundedUp {
		valid = valid.Truncate(time.Minute) + time.Minute
	}
	slot := i
	if w.flaw == SlotUnsaid {
		slot = 0
	}
	w.answer(q, driver.Grant{Number: g.holder.Number, Slot: slot, Since: now, Proof: driver.Proof{Valid: valid}}, nil)
}

// tick lets time run out.
func (w *world) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.flaw != NobodyDrives {
		w.serve()
	}
}

// number draws a grant's number.
func (w *world) number(q *waiter, key string, now time.Time) int64 {
	last := w.numbers[key]
	number := max(last+1, now.UnixMicro())
	switch {
	case w.flaw == NumberInNanoseconds:
		number = max(last+1, now.UnixNano())
	case w.flaw == NumberIsClock:
		number = now.UnixMilli()
	case w.flaw == CounterReset, w.flaw == ExpiredNumber, w.flaw == NumberRolledBack, w.flaw == SlotNumbersForgotten && len(q.keys) > 1:
		number = last + 1
	case w.flaw == NumberPassedOn && q.req.Wait && last > 0:
		number = last
	case w.flaw == ReaderUnnumbered && q.req.Mode == driver.Shared && last > 0:
		number = last
	}
	w.numbers[key] = number
	return number
}

// drop takes a holder away.
func (w *world) drop(key string, g *grant) {
	w.held[key] = slices.DeleteFunc(w.held[key], func(other *grant) bool { return other == g })
	if len(w.held[key]) == 0 {
		delete(w.held, key)
		if w.flaw == SlotNumbersForgotten {
			delete(w.numbers, key)
		}
	}
}

// remembered says what a memory has against a request.
func (w *world) remembered(q *waiter) error {
	run, ok := w.runs[q.keys[0]]
	if !ok || len(q.req.Slots) > 0 || w.flaw == OnceUncheckedForWaiter && !q.fresh() {
		return nil
	}
	now := time.Now()
	if every := q.req.OncePer; every > 0 {
		period := run.Since.UnixNano() / int64(every)
		next := time.Unix(0, (period+1)*int64(every))
		if w.flaw == OnceSlides {
			next = run.Since.Add(every)
		}
		if now.Before(next) {
			return &driver.DoneError{Last: run.Since, Next: next}
		}
	}
	if left := run.Since.Add(q.req.Gap).Sub(now); q.req.Gap > 0 && left > 0 && w.flaw != GapEndsAtRelease {
		return &driver.HeldError{Holder: run, RetryAfter: left, Gap: true}
	}
	return nil
}

// fresh says whether q has not waited yet.
func (q *waiter) fresh() bool { return !q.req.Wait || driver.Now() == q.sent }
