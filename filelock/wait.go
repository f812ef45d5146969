package filelock

import (
	"math/rand/v2"
	"time"

	"github.com/tenurelock/tenure/driver"
)

const (
	// A waiter asks every pollLeast to pollMost: it sees a free name within 25 ms, and a hundred waiters cost the system
	// some seven thousand system calls a second. flock can wait in the kernel too, but such a wait holds a thread, ends
	// only by a signal, and does not see that the file was replaced.
	pollLeast = 8 * time.Millisecond
	pollMost  = 20 * time.Millisecond
	// lookEvery is how often a waiter does the rest of its duties.
	lookEvery = 100 * time.Millisecond
)

// wait asks again and again, until one of the files is granted, or the request ends. It says that it waits once later
// readers stand back.
func (a *ask) wait(holder *driver.Holder) (driver.Grant, *hold, error) {
	defer a.withdraw()
	looked := time.Now()
	if err := a.look(looked); err != nil {
		return driver.Grant{}, nil, err
	}
	a.req.Watch.Queued(holder)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-a.ctx.Done():
		}
		if a.ctx.Err() != nil {
			return driver.Grant{}, nil, ended(a.ctx, "waiting for", a.req.Name)
		}
		if now := time.Now(); now.Sub(looked) >= lookEvery {
			looked = now
			if err := a.look(now); err != nil {
				return driver.Grant{}, nil, err
			}
		}
		for _, t := range a.targets {
			taken, err := t.once()
			switch {
			case err != nil:
				return driver.Grant{}, nil, err
			case taken:
				return t.grant()
			}
		}
		timer.Reset(pollLeast + rand.N(pollMost-pollLeast))
	}
}

// look does a waiter's other duties: it notices files that were replaced, tells readers to stand back, and sees whether
// the name was done by somebody else.
func (a *ask) look(now time.Time) error {
	for _, t := range a.targets {
		if t.file != nil {
			current, err := t.file.current()
			if err != nil {
				return err
			}
			if !current {
				t.file.drop()
				t.file = nil
			}
		}
		if err := t.door.refresh(); err != nil {
			return err
		}
		if a.req.Mode == driver.Exclusive {
			t.door.announce(a.since, now)
		}
		if t.file != nil && a.remembers() {
			rec, _, err := t.read(tries)
			if err == nil {
				err = a.remembered(rec, now)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// withdraw takes back what a waiting writer announced, or it would hold up readers after it has left (H24).
func (a *ask) withdraw() {
	for _, t := range a.targets {
		t.door.withdraw()
	}
}
