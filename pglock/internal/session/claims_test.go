package session

import (
	"errors"
	"testing"

	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// TestLeftClaims: a caller that leaves in the very instant of its answer, or of its line's end, leaves nothing behind; else
// its clean-up would never be answered.
func TestLeftClaims(t *testing.T) {
	t.Parallel()
	s := start(t, server.Database(t), long)
	enter := func() (*caller, *claim) {
		t.Helper()
		by := s.caller(t, "x")
		c, err := s.enter(&by.req, nil)
		if err != nil {
			t.Fatal(err)
		}
		return by, c
	}
	nothing := func(by *caller, when string) {
		t.Helper()
		by.abandons()
		if len(s.claims) != 0 {
			t.Errorf("%s: an acquisition is remembered", when)
		}
	}
	broken := &wire.BrokenError{Err: errors.New("broken by the test")}

	by, c := enter()
	s.mu.Lock()
	s.answered(c, newAsk(toLock))
	s.mu.Unlock()
	s.leave(c)
	nothing(by, "left after a refusal")

	l := s.main
	defer l.shut()
	by, c = enter()
	c.line, c.asked = l, true
	s.broke(l, broken)
	s.leave(c)
	s.drop(c)
	nothing(by, "left after its line broke")
	l.shut() // for that line is the store's no more

	by, c = enter()
	<-l.gone
	a := newAsk(toLock)
	a.claim, a.lock = c, lock{bits: 1}
	if err := s.submit(t.Context(), l, c, a); err != nil || a.err == nil {
		t.Errorf("a line that is broken said: %v, %v", err, a.err)
	}
	s.drop(c)
	nothing(by, "asked of a line that was broken")
}
