package mutant

import (
	"context"
	"strings"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// find gives an owner's grant of a key.
func (w *world) find(key, owner string) *grant {
	w.expire()
	for _, g := range w.held[key] {
		if g.owner == owner || w.flaw == OwnerByPrefix && strings.HasPrefix(g.owner, owner) {
			return g
		}
	}
	return nil
}

// Release gives one grant back.
func (s *Store) Release(_ context.Context, ref driver.Ref) error {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.isClosed() {
		return closedFault()
	}
	key, owner := w.key(ref), s.owner(ref.Acq)
	g := w.find(key, owner)
	held := w.held[key]
	switch {
	case g == nil && w.flaw == ReleaseAnybody && len(held) > 0 && w.ever[owner]:
		g = held[0]
	case g == nil && w.flaw == ReleaseOfNothing && !w.ever[owner],
		g == nil && w.flaw == ReleaseTwice && w.ever[owner]:
		return nil
	case g == nil:
		return driver.ErrNotOurs
	case w.flaw == ReadersAsFlag && g.mode == driver.Shared:
		delete(w.held, key)
	case w.flaw == AnyReader && g.mode == driver.Shared:
		g = held[len(held)-1]
	}
	w.ever[owner] = true
	if w.flaw == ReleaseDeferred {
		time.AfterFunc(time.Second/10, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.drop(key, g)
			w.serve()
		})
		return nil
	}
	w.drop(key, g)
	if w.flaw == OnceForgotten {
		delete(w.runs, key)
	}
	if w.flaw == Barging {
		time.AfterFunc(time.Second/10, w.tick) // the waiter has yet to wake and ask
		return nil
	}
	w.serve()
	return nil
}

// Renew proves grants.
func (s *Store) Renew(ctx context.Context, batch []driver.Renewal) {
	w := s.w
	sent := driver.Now()
	if ctx.Err() != nil && w.flaw == RenewIgnoresContext {
		time.Sleep(defaultTTL / 2)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range batch {
		r := &batch[i]
		r.Proof, r.Err = s.renew(r, sent)
		if w.flaw == BatchAnsweredOnce {
			r.Err = batch[0].Err
		}
	}
}

func (s *Store) renew(r *driver.Renewal, sent driver.Instant) (driver.Proof, error) {
	w := s.w
	if s.isClosed() {
		return driver.Proof{}, closedFault()
	}
	key, owner := w.key(r.Ref), s.owner(r.Acq)
	g := w.find(key, owner)
	if g == nil {
		again := len(w.held[key]) == 0
		switch w.flaw {
		case RenewRecreates:
			again = again && w.ever[owner]
		case RenewCreates:
			again = again && !w.ever[owner]
		case RenewAfterGap:
			again = again && w.last[key].Session != "" && !w.ever[owner] && r.Terms.TTL <= defaultTTL
		default:
			again = false
		}
		if !again {
			return driver.Proof{}, driver.ErrNotOurs
		}
		g = &grant{session: s, owner: owner, mode: r.Mode, holder: w.last[key]}
		w.held[key] = append(w.held[key], g)
	}
	g.ttl = r.Terms.TTL
	if w.flaw != RenewsNothing {
		g.expires = driver.Now().Add(g.ttl)
		if w.flaw == ExpiresEarly {
			g.expires = driver.Now().Add(g.ttl / 2)
		}
		time.AfterFunc(g.ttl, w.tick)
	}
	if w.flaw == RenewalProofStale {
		sent = g.sent
	}
	return driver.Proof{Sent: sent, Valid: g.ttl}, nil
}

// Abandon cleans up.
func (s *Store) Abandon(_ context.Context, batch []driver.Removal) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range batch {
		r := &batch[i]
		if r.Err = nil; s.isClosed() {
			r.Err = closedFault()
			continue
		}
		if !s.abandon(r) {
			if w.flaw == AbandonsKnownOnly {
				r.Err = driver.ErrNotOurs
			}
			if w.flaw == BatchEndsEarly {
				break
			}
		}
	}
	w.serve()
}

// abandon says whether there was anything.
func (s *Store) abandon(r *driver.Removal) (found bool) {
	w, owner := s.w, s.owner(r.Acq)
	if w.cleaned[owner] && w.flaw == AbandonsOnce {
		return true
	}
	w.cleaned[owner] = true
	for _, q := range clone(w.queue) {
		if q.owner == owner && w.flaw != AbandonsHoldersOnly {
			w.answer(q, driver.Grant{}, &driver.Fault{Kind: driver.Passing, Err: errAbandoned})
			found = true
		}
	}
	keys := []string{w.key(r.Ref)}
	if w.flaw != AbandonsGroupOnly {
		for _, slot := range r.Slots {
			keys = append(keys, w.key(driver.Ref{Name: slot.Name, Key: slot.Key}))
		}
	}
	for _, key := range keys {
		g := w.find(key, owner)
		if held := w.held[key]; g == nil && w.flaw == AbandonsAnybody && len(held) > 0 && w.ever[owner] {
			g = held[0]
		}
		if g == nil || w.flaw == AbandonsWaitersOnly {
			continue
		}
		found = true
		w.drop(key, g)
		if w.flaw == NumberRolledBack {
			w.numbers[key]--
		}
	}
	return found
}
