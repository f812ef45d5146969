package filelock

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// target is one lock file that a request wants.
type target struct {
	ask  *ask
	slot int
	name string
	path string    // of the lock file
	file *lockFile // nil: not open
	door *door
	sent driver.Instant // read before the last attempt to lock
	// waived says that the last attempt was left out, for a writer that has waited longer.
	waived bool
	// foreign says that whoever has the lock wrote nothing for a while: flock(1), perhaps.
	foreign bool
}

func (a *ask) newTarget(slot int, name string) (*target, error) {
	path, err := a.store.path(name)
	if err != nil {
		return nil, err
	}
	return &target{ask: a, slot: slot, name: name, path: path + lockSuffix, door: newDoor(path)}, nil
}

func (t *target) close() {
	if t.file != nil {
		t.file.drop()
		t.file = nil
	}
	t.door.close()
}

// read gives the file's record.
func (t *target) read(tries int) (record, []byte, error) {
	rec, raw, err := t.file.read(tries)
	return rec.under(t.name), raw, err
}

// once tries the lock a single time. A lock that is taken is on the file to which the path leads.
func (t *target) once() (bool, error) {
	const replacements = 100
	for range replacements {
		if t.file == nil {
			file, err := openLock(t.path, create)
			if err != nil {
				return false, err
			}
			t.file = file
		}
		var err error
		if t.waived, err = t.mustWaive(); err != nil || t.waived {
			return false, err
		}
		t.sent = driver.Now()
		taken, err := t.file.lock(t.ask.req.Mode)
		if err != nil {
			return false, failed("lock", t.path, err)
		}
		if !taken {
			return false, nil
		}
		if taken, err = t.keep(); taken || err != nil {
			return taken, err
		}
	}
	return false, lasting("%s is another file at each look; choose a directory on a plain local file system", t.path)
}

// keep looks whether a lock that was just taken is on the right file, and gives it up if not.
func (t *target) keep() (bool, error) {
	current, err := t.file.current()
	if err == nil && current {
		return true, nil
	}
	t.file.drop()
	t.file = nil
	return false, err
}

const (
	// settleTime is how long a lock may go without a record of its holder before that counts as a holder.
	settleTime = 50 * time.Millisecond
	// lookersTime is how long only lookers may be in the way, each for an instant.
	lookersTime = 250 * time.Millisecond
	// readersRounds is how often other shared locks must be found to count as readers.
	readersRounds = 3
)

// try tries the lock, and answers "held" only if somebody holds it. A failed flock alone does not prove that: Inspect
// locks the file for an instant to see whether it is locked. It does not where the record says "free"; it shares where
// the record says "exclusive"; it locks alone where the record says "shared"; and if there is a door, it does so behind
// it. So an exclusive holder is proved by a shared attempt that fails there, and readers by being found there repeatedly.
func (t *target) try() (taken bool, found record, err error) {
	taken, err = t.once()
	begun, readers, silence := time.Now(), 0, int64(0)
	for round := 1; !taken && err == nil; round++ {
		if found, _, err = t.read(tries); err != nil {
			break
		}
		if round == 1 {
			silence = found.number
			if err = t.ask.remembered(found, time.Now()); err != nil {
				break
			}
		}
		t.foreign = found.state == free && found.number == silence
		if t.waived {
			return false, found, nil
		}
		var beside bool
		if found.state == free {
			taken, beside, err = t.squeeze()
		} else {
			taken, beside, err = t.squeezeUnseen()
		}
		patience := settleTime
		switch {
		case taken || err != nil:
			continue
		case !beside && found.state == exclusive:
			return false, found, nil
		case beside && found.state == shared:
			readers++
		case beside && found.state == exclusive:
			patience = lookersTime // it is not held: its holder's lock would have kept ours out
		}
		if readers == readersRounds || time.Since(begun) > patience || !pause(t.ask.ctx, round) {
			return false, found, nil
		}
	}
	return taken, found, err
}

// squeezeUnseen is squeeze behind the door, where nobody inspects. Without a door there never was a reader, and whoever
// inspects shares. Nor is a door that is not to be had a reason to give up.
func (t *target) squeezeUnseen() (taken, beside bool, err error) {
	if t.door.open(readWrite) == nil && t.door.lock(t.ask.ctx, readWrite, doorPatience) == nil {
		defer t.door.unlock()
	}
	return t.squeeze()
}

// squeeze tries for an exclusive lock through a shared one. beside says that the shared one was granted, and the
// exclusive one not: whoever is in the way shares.
func (t *target) squeeze() (taken, beside bool, err error) {
	if t.ask.req.Mode == driver.Shared {
		taken, err = t.once()
		return taken, false, err
	}
	beside, err = t.file.lock(driver.Shared)
	if err == nil && beside {
		t.sent = driver.Now()
		if taken, err = t.file.upgrade(); taken {
			if taken, err = t.keep(); !taken && err == nil {
				taken, err = t.once() // on the file that has replaced it
			}
			return taken, true, err
		}
	}
	if err != nil {
		err = failed("lock", t.path, err)
	}
	_ = t.file.unlock() // after a failed upgrade the shared lock may be there or not
	return false, beside, err
}

// pause lets whoever is in the way finish. False: the request's context ended.
func pause(ctx context.Context, round int) bool {
	most := min(100*time.Microsecond<<min(round, 4), time.Millisecond)
	timer := time.NewTimer(most/2 + rand.N(most))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
