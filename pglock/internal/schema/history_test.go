package schema

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// grant is one number that was handed out, and when, by this process's clock: it was drawn between the two.
type grant struct {
	number         int64
	sent, answered time.Duration
}

// history is all that was handed out, by one server after the other.
type history struct {
	start  time.Time
	mu     sync.Mutex
	grants []grant
}

func newHistory() *history { return &history{start: time.Now()} }

func (h *history) now() time.Duration { return time.Since(h.start) }

func (h *history) add(g grant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grants = append(h.grants, g)
}

func (h *history) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.grants)
}

// check holds the history to the promise, for all names together, which is more than for each: no number comes twice, and
// one that was asked for after another had been answered is greater.
func (h *history) check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := make(map[int64]grant, len(h.grants))
	for _, g := range h.grants {
		if other, twice := seen[g.number]; twice {
			return fmt.Errorf("%d was handed out twice: at %v and at %v", g.number, other.answered, g.answered)
		}
		seen[g.number] = g
	}
	bySending := slices.SortedFunc(slices.Values(h.grants), func(a, b grant) int { return cmp.Compare(a.sent, b.sent) })
	byAnswer := slices.SortedFunc(slices.Values(h.grants), func(a, b grant) int { return cmp.Compare(a.answered, b.answered) })
	var highest grant
	for _, g := range bySending {
		for len(byAnswer) > 0 && byAnswer[0].answered < g.sent {
			if byAnswer[0].number > highest.number {
				highest = byAnswer[0]
			}
			byAnswer = byAnswer[1:]
		}
		if g.number < highest.number {
			return fmt.Errorf("%d was asked for at %v, after %d had been handed out at %v", g.number, g.sent, highest.number,
				highest.answered)
		}
	}
	return nil
}

// TestHistoryIsHeldToThePromise: the checker itself.
func TestHistoryIsHeldToThePromise(t *testing.T) {
	for _, test := range []struct {
		name   string
		grants []grant
		fine   bool
	}{
		{"rising", []grant{{1, 0, 1}, {2, 2, 3}, {3, 4, 5}}, true},
		{"at the same time in any order", []grant{{2, 0, 3}, {1, 1, 4}}, true},
		{"twice", []grant{{1, 0, 1}, {2, 2, 3}, {1, 0, 5}}, false},
		{"fallen", []grant{{1, 0, 1}, {3, 2, 3}, {2, 4, 5}}, false},
		{"fallen behind an overlap", []grant{{5, 0, 3}, {6, 0, 9}, {4, 4, 5}}, false},
	} {
		h := history{grants: test.grants}
		if err := h.check(); (err == nil) != test.fine {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
