package session

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// names notes which names stand behind keys, for the table tenure.name: once for each name and process, with the next
// heartbeat.
type names struct {
	noted atomic.Pointer[sync.Map] // by name; looked at by every acquisition

	mu      sync.Mutex
	since   time.Time // when noted was begun
	count   int       // how many are noted
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
	if noted := n.noted.Load(); noted != nil {
		if _, known := noted.Load(name); known {
			return
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.noted.Load() == nil || n.count >= maxNoted {
		n.since, n.count = time.Now(), 0
		n.noted.Store(new(sync.Map))
	}
	if len(n.pending) >= maxPending {
		return
	}
	if _, known := n.noted.Load().LoadOrStore(name, true); known {
		return
	}
	n.count++
	n.pending = append(n.pending, named{l.bits, name})
}

// refresh has all names noted anew once they were noted for a day, so that those in use do not look unused.
func (n *names) refresh() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.noted.Load() != nil && time.Since(n.since) > 24*time.Hour {
		n.noted.Store(nil)
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
