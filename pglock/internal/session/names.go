package session

import (
	"sync"
	"time"

	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// names notes which names stand behind keys, for the table tenure.name: once for each name and process, with the next
// heartbeat.
type names struct {
	mu      sync.Mutex
	since   time.Time // when noted was begun
	noted   map[string]bool
	pending []named
}

type named struct {
	bits int64
	name string
}

const (
	// maxNoted bounds what is remembered; beyond it, names are noted again.
	maxNoted = 100_000
	// maxPending bounds what one heartbeat writes.
	maxPending = 1_000
)

// note notes a name. A key of two integers is its own name.
func (n *names) note(l lock, name string) {
	if l.form&pair != 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.noted == nil || len(n.noted) >= maxNoted {
		n.noted, n.since = make(map[string]bool), time.Now()
	}
	if n.noted[name] || len(n.pending) >= maxPending {
		return
	}
	n.noted[name] = true
	n.pending = append(n.pending, named{l.bits, name})
}

// refresh has all names noted anew once they were noted for a day, so that those in use do not look unused.
func (n *names) refresh() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.noted != nil && time.Since(n.since) > 24*time.Hour {
		n.noted = nil
	}
}

// ask gives a statement that writes what is pending; nil if nothing is. Should it fail, those names stay unwritten.
func (n *names) ask() *ask {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pending) == 0 {
		return nil
	}
	keys, texts := make([]int64, len(n.pending)), make([]string, len(n.pending))
	for i, p := range n.pending {
		keys[i], texts[i] = p.bits, p.name
	}
	n.pending = nil
	a := newAsk(toQuery)
	a.statement, a.params = "names", [][]byte{wire.AppendInt8s(nil, keys), wire.AppendTexts(nil, texts)}
	return a
}
