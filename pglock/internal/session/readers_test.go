package session

import (
	"testing"
)

// TestWaitingWriterHoldsBackReaders, also those of a session that has the name already: the server would grant it the same
// again, past its queue.
func TestWaitingWriterHoldsBackReaders(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s, other := look(t, url), start(t, url, long), start(t, url, long)
	for _, name := range []string{"x", "pgkey:42", "pgkey:7,9"} {
		first := s.take(t, name, shared)
		second := s.take(t, name, shared) // nobody waits
		writer := other.caller(t, name).waits(t.Context())
		s.refused(t, name, shared)
		other.refused(t, name, shared)
		reader := s.caller(t, name, shared).waits(t.Context())
		until(t, prompt, "both queue", func() bool { return v.queue(name) == 2 })
		first.releases()
		second.releases()
		writer.got(prompt)
		if reader.hasEnded() {
			t.Errorf("%s: a reader was granted beside a writer: %v", name, reader.err)
		}
		writer.releases()
		reader.got(prompt)
		if reader.grant.Number <= writer.grant.Number {
			t.Errorf("%s: number %d came after %d", name, reader.grant.Number, writer.grant.Number)
		}
		reader.releases()
	}
	// A writer that has gone holds back nobody.
	first := s.take(t, "y", shared)
	writer := other.caller(t, "y").waits(t.Context())
	s.refused(t, "y", shared)
	writer.abandons()
	writer.ends(prompt)
	s.take(t, "y", shared).releases()
	first.releases()
	v.agrees(s)
	if n := v.advisory(); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}

// hasEnded says whether it is over.
func (c *caller) hasEnded() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}
