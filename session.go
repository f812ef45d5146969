package tenure

import (
	"sync"
	"sync/atomic"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/queue"
)

// session is what all Lockers over one store share.
type session struct {
	store   driver.Store
	info    driver.Info
	acqs    atomic.Uint64
	queue   *queue.Table[*call, *hold]
	calls   sync.Pool
	renewer renewer
	cleaner cleaner
	teller  teller

	groupsMu sync.Mutex
	groups   map[string]*slotGroup
	parked   map[string]*slotGroup // by the keys of the slots for which the group's head waits
	parking  atomic.Int32          // how many heads wait
}

// attach finds the session of a store, or begins it.
func attach(store driver.Store) *session {
	return store.Attached().Value(func() any {
		s := &session{store: store, info: store.Info(), queue: queue.New[*call, *hold](), groups: make(map[string]*slotGroup), parked: make(map[string]*slotGroup)}
		s.calls.New = func() any { return newCall() }
		s.renewer.s, s.cleaner.s = s, s
		return s
	}).(*session)
}

// call is one caller's way through the queue. It is used again and again.
type call struct {
	locker *Locker
	waiter *queue.Waiter[*call] // its place before the gate
	lease  *Lease               // handed to it
}

func newCall() *call {
	c := &call{}
	c.waiter = queue.NewWaiter(c)
	return c
}

// leave goes out of a gate: by, who said that it was inside, if it did. A head of a park that waits for the key hears of it.
func (s *session) leave(key string, shared bool, by *hold) {
	s.queue.Exit(key, shared, by)
	if s.parking.Load() == 0 {
		return
	}
	s.groupsMu.Lock()
	g := s.parked[key]
	s.groupsMu.Unlock()
	if g != nil {
		g.free()
	}
}
