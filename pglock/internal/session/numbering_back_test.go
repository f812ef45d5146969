package session

import (
	"strings"
	"testing"
)

// TestSequenceSetBack: a session that has drawn a number believes no lower one, and ends what it holds.
func TestSequenceSetBack(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	v, s := look(t, url), start(t, url, long)
	kept := s.take(t, "kept")
	v.do("select setval('tenure.grants', 1000)")
	c := s.caller(t, "x").start(t.Context()).ends(prompt)
	if c.err == nil || !strings.Contains(c.err.Error(), "set the sequence tenure.grants back") {
		t.Errorf("after the sequence was set back an acquisition said: %d, %v", c.grant.Number, c.err)
	}
	kept.loses(prompt)
}
