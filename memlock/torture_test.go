package memlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// register is the resource behind the locks: it knows who is inside, until when each may believe so, and which numbers
// there were.
type register struct {
	mu      sync.Mutex
	inside  map[string]map[uint64]belief
	numbers map[string]map[int64]bool
	highest map[string]int64
}

type belief struct {
	mode  driver.Mode
	until driver.Instant
}

// enter complains if somebody inside does not get along with the newcomer, or its number is not a new and higher one.
func (r *register) enter(key string, acq uint64, mode driver.Mode, g driver.Grant, above int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, b := range r.inside[key] {
		if driver.Now().Before(b.until) && (mode == driver.Exclusive || b.mode == driver.Exclusive) {
			return fmt.Errorf("%q: %d (%v) is inside with %d (%v)", key, acq, mode, other, b.mode)
		}
	}
	if r.numbers[key][g.Number] || g.Number <= above || mode == driver.Exclusive && g.Number <= r.highest[key] {
		return fmt.Errorf("%q: number %d after %d", key, g.Number, max(above, r.highest[key]))
	}
	if r.inside[key] == nil {
		r.inside[key], r.numbers[key] = map[uint64]belief{}, map[int64]bool{}
	}
	r.inside[key][acq] = belief{mode, g.Proof.Sent.Add(g.Proof.Valid)}
	r.numbers[key][g.Number] = true
	r.highest[key] = max(r.highest[key], g.Number)
	return nil
}

func (r *register) prolong(key string, acq uint64, proof driver.Proof) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.inside[key][acq]
	b.until = max(b.until, proof.Sent.Add(proof.Valid))
	r.inside[key][acq] = b
}

func (r *register) leave(key string, acq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.inside[key], acq)
}

func (r *register) above(key string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.highest[key]
}

// TestTorture lets many acquire, wait, give up, renew, crash and release at the same time, and nothing may overlap.
func TestTorture(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			s := New(Options{})
			r := &register{inside: map[string]map[uint64]belief{}, numbers: map[string]map[int64]bool{}, highest: map[string]int64{}}
			var group sync.WaitGroup
			for worker := range uint64(24) {
				session := s
				if worker%3 > 0 {
					session = s.Session()
				}
				group.Go(func() {
					dice := rand.New(rand.NewPCG(seed, worker))
					for range 60 {
						if err := r.visit(session, dice); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
		})
	}
}

// visit is one acquisition from its asking to its end.
func (r *register) visit(s *Store, dice *rand.Rand) error {
	key := []string{"a", "b", "c"}[dice.IntN(3)]
	a := want(key, func(q *driver.Request) {
		q.Wait = dice.IntN(4) > 0
		switch dice.IntN(3) {
		case 0:
			q.Mode = driver.Shared
		case 1:
			q.Name, q.Key = "pool", "pool"
			slots("a", "b", "c")(q)
		}
	})
	above := r.above(key)
	if a.Slots != nil {
		above = 0 // it is not known yet of which
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(dice.Int64N(int64(4*ttl))))
	defer cancel()
	g, err := s.Acquire(ctx, &a.Request)
	var busy *driver.HeldError
	switch {
	case errors.As(err, &busy), errors.Is(err, context.DeadlineExceeded):
		time.Sleep(time.Duration(dice.Int64N(int64(time.Second))))
		return nil
	case err != nil:
		return err
	}
	if a.Slots != nil {
		a = slot(a, g)
	}
	if err := r.enter(a.Key, a.Acq, a.Mode, g, above); err != nil {
		return err
	}
	return r.stay(s, a, dice)
}

// stay holds a while, and ends in one of the ways in which a hold can end.
func (r *register) stay(s *Store, a *ask, dice *rand.Rand) error {
	for dice.IntN(3) == 0 {
		time.Sleep(time.Duration(dice.Int64N(int64(ttl) * 11 / 10))) // at times too late
		proof, err := renewed(s, a)
		if errors.Is(err, driver.ErrNotOurs) {
			r.leave(a.Key, a.Acq)
			return nil
		}
		if err != nil {
			return err
		}
		r.prolong(a.Key, a.Acq, proof)
	}
	time.Sleep(time.Duration(dice.Int64N(int64(ttl) / 10)))
	switch dice.IntN(4) {
	case 0: // crashes: it stays inside until its time is up
		return nil
	case 1:
		r.leave(a.Key, a.Acq)
		batch := []driver.Removal{{Ref: a.Ref}}
		s.Abandon(context.Background(), batch)
		return batch[0].Err
	default:
		r.leave(a.Key, a.Acq)
		if err := s.Release(context.Background(), a.Ref); !errors.Is(err, driver.ErrNotOurs) {
			return err
		}
		return nil
	}
}

// TestContentionOutsideABubble is the same race on real time, without waits for time: for the race detector.
func TestContentionOutsideABubble(t *testing.T) {
	s := New(Options{})
	var inside, writers int
	var mu sync.Mutex // of the counts, which the lock under test should already keep apart
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			session := s.Session()
			for i := range 300 {
				a := want("x", waiting)
				if i%4 == 0 {
					a.Mode = driver.Shared
				}
				if _, err := session.Acquire(context.Background(), &a.Request); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if inside++; a.Mode == driver.Exclusive {
					writers++
				}
				if writers > 0 && inside > 1 {
					t.Errorf("%d inside, %d of them writers", inside, writers)
				}
				mu.Unlock()
				mu.Lock()
				if inside--; a.Mode == driver.Exclusive {
					writers--
				}
				mu.Unlock()
				if err := session.Release(context.Background(), a.Ref); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}
