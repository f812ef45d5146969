package memlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// model is what a memory should do, written as plainly as possible: one list of everybody in the order of their coming.
type model struct {
	holders map[string][]*part
	waiting []*part
}

type part struct {
	*waiter
	session *Store
	cancel  context.CancelFunc
	mode    driver.Mode
	wants   []string // in the order in which it looks at them
	holds   string
	number  int64
	until   time.Time
}

func (p *part) name() string { return fmt.Sprintf("%d wanting %v %v", p.Acq, p.wants, p.mode) }

// free says whether p may have a key: its holders get along with it, and nobody before it wants the key.
func (m *model) free(p *part, key string) bool {
	for _, h := range m.holders[key] {
		if p.mode == driver.Exclusive || h.mode == driver.Exclusive {
			return false
		}
	}
	for _, before := range m.waiting {
		if before == p {
			break
		}
		if slices.Contains(before.wants, key) {
			return false
		}
	}
	return true
}

func (m *model) hold(p *part, key string) {
	p.holds, p.until = key, time.Now().Add(p.Terms.TTL)
	m.holders[key] = append(m.holders[key], p)
}

func (m *model) unhold(p *part) {
	m.holders[p.holds] = slices.DeleteFunc(m.holders[p.holds], func(h *part) bool { return h == p })
}

func (m *model) unwait(p *part) {
	m.waiting = slices.DeleteFunc(m.waiting, func(w *part) bool { return w == p })
}

// serve passes on what is free, and gives those who got something.
func (m *model) serve() (served []*part) {
	for again := true; again; {
		again = false
		for _, p := range slices.Clone(m.waiting) {
			for _, key := range p.wants {
				if m.free(p, key) {
					m.hold(p, key)
					m.unwait(p)
					served, again = append(served, p), true
					break
				}
			}
		}
	}
	return served
}

func (m *model) all() (all []*part) {
	for _, key := range []string{"a", "b", "c"} {
		all = append(all, m.holders[key]...)
	}
	return all
}

// TestRandomHistoriesGoAsTheModelSays takes one step at a time, so that the order of things is certain, and compares
// who holds and who waits after each.
func TestRandomHistoriesGoAsTheModelSays(t *testing.T) {
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) { walk(t, rand.New(rand.NewPCG(seed, 1))) })
		if t.Failed() {
			t.Fatalf("in history %d", seed)
		}
	}
}

func walk(t *testing.T, dice *rand.Rand) {
	s := New(Options{})
	sessions := []*Store{s, s.Session(), s.Session()}
	m := &model{holders: map[string][]*part{}}
	last := map[string]int64{}
	check := func() {
		t.Helper()
		for _, p := range m.serve() {
			g := p.got(t)
			if want := slices.Index(p.wants, p.holds); g.Slot != want {
				t.Fatalf("%s got slot %d, not %d", p.name(), g.Slot, want)
			}
			if p.number = g.Number; p.number <= last[p.holds] && p.mode == driver.Exclusive {
				t.Fatalf("number %d of %q after %d", p.number, p.holds, last[p.holds])
			}
			last[p.holds] = max(last[p.holds], p.number)
		}
		for _, p := range m.waiting {
			if p.over() {
				t.Fatalf("%s does not wait any more: %v", p.name(), p.err)
			}
		}
	}
	for range 80 {
		switch roll := dice.IntN(10); {
		case roll < 4: // somebody comes
			p := somebody(dice, sessions)
			m.arrive(t, p, dice.IntN(3) > 0)
		case roll < 7: // a holder goes
			if all := m.all(); len(all) > 0 {
				p := all[dice.IntN(len(all))]
				if err := p.session.Release(t.Context(), driver.Ref{Key: p.holds, Acq: p.Acq}); err != nil {
					t.Fatalf("%s releasing %q: %v", p.name(), p.holds, err)
				}
				m.unhold(p)
			}
		case roll < 8: // a waiter goes
			if n := len(m.waiting); n > 0 {
				p := m.waiting[dice.IntN(n)]
				p.cancel()
				if m.unwait(p); !p.over() || p.err == nil {
					t.Fatalf("%s waits although its context is over", p.name())
				}
			}
		case roll < 9: // a holder renews
			if all := m.all(); len(all) > 0 {
				p := all[dice.IntN(len(all))]
				batch := []driver.Renewal{{Ref: driver.Ref{Key: p.holds, Acq: p.Acq}, Terms: p.Terms}}
				if p.session.Renew(t.Context(), batch); batch[0].Err != nil {
					t.Fatalf("%s renewing %q: %v", p.name(), p.holds, batch[0].Err)
				}
				p.until = time.Now().Add(p.Terms.TTL)
			}
		default: // the next holder's time runs out
			if all := m.all(); len(all) > 0 {
				p := slices.MinFunc(all, func(p, q *part) int { return p.until.Compare(q.until) })
				time.Sleep(time.Until(p.until))
				m.unhold(p)
			}
		}
		check()
	}
	for _, p := range m.waiting {
		p.cancel()
	}
}

// somebody is a reader, a writer, or one who wants any of some slots. The TTLs differ by so many nanoseconds that no two
// holders expire at the same instant: then the order would be anybody's.
func somebody(dice *rand.Rand, sessions []*Store) *part {
	p := &part{session: sessions[dice.IntN(len(sessions))]}
	keys := []string{"a", "b", "c"}
	dice.Shuffle(3, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	name, change := keys[0], []func(*driver.Request){}
	switch p.wants = keys[:1]; dice.IntN(3) {
	case 0:
		p.mode = driver.Shared
		change = append(change, shared)
	case 1:
		p.wants = keys[:1+dice.IntN(3)]
		name = []string{"group", "other group", "b"}[dice.IntN(3)]
		change = append(change, slots(p.wants...))
	}
	a := want(name, change...)
	a.Terms.TTL += time.Duration(dice.Int64N(int64(time.Second)))
	p.waiter = &waiter{ask: a}
	return p
}

// arrive has p try, or wait if it must.
func (m *model) arrive(t *testing.T, p *part, wait bool) {
	free := slices.IndexFunc(p.wants, func(key string) bool { return m.free(p, key) })
	switch {
	case free >= 0:
		p.Wait = wait
		if g := granted(t, p.session, p.ask); g.Slot != free {
			t.Fatalf("%s got slot %d, not %d", p.name(), g.Slot, free)
		}
		m.hold(p, p.wants[free])
	case wait:
		var ctx context.Context
		ctx, p.cancel = context.WithCancel(t.Context())
		p.waiter = queue(ctx, t, p.session, p.ask)
		m.waiting = append(m.waiting, p)
	default:
		held(t, p.session, p.ask)
	}
}
