package quorum

import (
	"context"
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// memNode is a node in memory, for tests in the fake time of synctest. Its requests take no time.
type memNode struct {
	mu      sync.Mutex
	owner   string
	expires time.Time
	last    int64
	calls   int
	// hold, if not nil, is where requests wait before they run; with deaf they do not see their context end.
	hold chan struct{}
	deaf bool
}

// stop has what comes from now on wait, until the returned function is called.
func (n *memNode) stop() (goOn func()) {
	hold := make(chan struct{})
	n.mu.Lock()
	n.hold = hold
	n.mu.Unlock()
	return func() {
		n.mu.Lock()
		n.hold = nil
		n.mu.Unlock()
		close(hold)
	}
}

func (n *memNode) begin(ctx context.Context) error {
	n.mu.Lock()
	n.calls++
	hold, deaf := n.hold, n.deaf
	n.mu.Unlock()
	switch {
	case hold == nil:
		return nil
	case deaf:
		<-hold
		return nil
	}
	select {
	case <-hold:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *memNode) standing(owner string) Standing {
	switch {
	case n.owner == "" || !time.Now().Before(n.expires):
		return Free
	case n.owner == owner:
		return Ours
	}
	return Held
}

func (n *memNode) do(ctx context.Context, lock Lock, run func(a *Answer)) (Answer, error) {
	if err := n.begin(ctx); err != nil {
		return Answer{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	a := Answer{Standing: n.standing(lock.Owner)}
	if a.Standing == Held {
		a.Holder = driver.Holder{Note: n.owner}
	}
	run(&a)
	return a, nil
}

func (n *memNode) Acquire(ctx context.Context, lock Lock, above int64) (Answer, error) {
	return n.do(ctx, lock, func(a *Answer) {
		if a.Standing == Held {
			return
		}
		n.last = max(n.last+1, above, time.Now().UnixMicro())
		n.owner, n.expires = lock.Owner, time.Now().Add(lock.TTL)
		a.Standing, a.Candidate = Ours, n.last
	})
}

func (n *memNode) WriteBack(ctx context.Context, lock Lock, number int64) (Answer, error) {
	return n.do(ctx, lock, func(a *Answer) {
		if a.Standing == Ours {
			n.last = max(n.last, number)
		}
	})
}

func (n *memNode) Renew(ctx context.Context, lock Lock) (Answer, error) {
	return n.do(ctx, lock, func(a *Answer) {
		if a.Standing == Ours {
			n.expires = time.Now().Add(lock.TTL)
		}
	})
}

func (n *memNode) Release(ctx context.Context, lock Lock) (Answer, error) {
	return n.do(ctx, lock, func(a *Answer) {
		if a.Standing == Ours {
			n.owner = ""
		}
	})
}

// has says whether the owner has the key here.
func (n *memNode) has(owner string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.standing(owner) == Ours
}

// lose takes the key away.
func (n *memNode) lose() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.owner = ""
}
