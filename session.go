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

	groupsMu sync.Mutex
	groups   map[string]*slotGroup
}

// attach finds the session of a store, or begins it.
func attach(store driver.Store) *session {
	return store.Attached().Value(func() any {
		s := &session{store: store, info: store.Info(), queue: queue.New[*call, *hold](), groups: make(map[string]*slotGroup)}
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
