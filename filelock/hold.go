package filelock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tenurelock/tenure/driver"
)

// hold is one grant.
type hold struct {
	store  *Store
	ref    driver.Ref
	name   string // the slot's, if there were slots
	watch  driver.Watcher
	holder driver.Holder
	owner  string
	number int64

	mu   sync.Mutex
	file *lockFile // nil: ended
}

// Renew proves grants. It asks the kernel, and changes nothing.
func (s *Store) Renew(ctx context.Context, batch []driver.Renewal) {
	for i := range batch {
		r := &batch[i]
		if ctx.Err() != nil {
			r.Err = ended(ctx, "renewing", r.Name)
			continue
		}
		sent := driver.Now()
		if r.Err = s.prove(r.Acq); r.Err == nil {
			r.Proof = driver.Proof{Sent: sent, Valid: s.valid(r.Terms)}
		}
	}
}

func (s *Store) prove(acq uint64) error {
	h, err := s.holding(acq)
	if err != nil {
		return err
	}
	if h == nil {
		return driver.ErrNotOurs
	}
	err = h.prove()
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, driver.ErrNotOurs):
		return asFault(driver.Passing, err) // whatever it is, the grant may well be there
	case s.take(h):
		h.drop()
		h.watch.Lost(err)
	}
	return err
}

// notOurs says that a grant is gone, and why.
func (h *hold) notOurs(why string) error {
	return fmt.Errorf("filelock: %q: %s: %w", h.name, why, driver.ErrNotOurs)
}

// The ways in which a grant is lost.
const (
	replaced = "its lock file was deleted or replaced"
	unlocked = "its lock file was unlocked through a duplicate of its descriptor"
	passedOn = "the name was granted to another since"
)

// prove looks whether the grant is still there: whether its file is, and whether it is still locked by us. The second is
// in doubt because a guardian, which has a duplicate of our descriptor, unlocks it when we were stopped for too long, and
// we do not hear of it.
//
// flock cannot be asked. To lock again on the same descriptor would prove it, but would also take the lock back where it
// had been freed, and a renewal must not create. On Linux /proc tells, for certain and without touching the lock.
func (h *hold) prove() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return driver.ErrNotOurs
	}
	current, err := h.file.current()
	switch {
	case err != nil:
		return err
	case !current:
		return h.notOurs(replaced)
	case !h.store.tells.Load():
		return h.proveByLocking()
	}
	held, known := h.file.locked()
	switch {
	case !known:
		return asFault(driver.Passing, fmt.Errorf("filelock: %q: the system does not say whether it is locked", h.name))
	case !held:
		return h.notOurs(unlocked)
	}
	return nil
}

// proveByLocking is for systems that do not tell.
//
// An exclusive lock of ours keeps a second description of the file from a shared one; if that gets it, ours is gone. If
// not, the lock is ours or another's; if another's, we cannot take it. And if we can, it was ours all along, or was
// freed by another between these two steps, who then has left its number in the record.
//
// A shared lock of ours cannot be told from other readers' in this way. That we can take it, and no writer was granted
// since, says as much as a lease needs: nobody was excluded in vain.
func (h *hold) proveByLocking() error {
	if h.ref.Mode == driver.Exclusive {
		other, err := openLock(h.file.path, readOnly)
		if err != nil {
			return err // gone in this moment: the next renewal sees it
		}
		defer other.drop()
		free, err := other.lock(driver.Shared)
		if err != nil {
			return failed("lock", h.file.path, err)
		}
		if free {
			return h.notOurs(unlocked)
		}
	}
	return h.secure()
}

// secure makes sure that the lock is ours, and was granted to nobody since it was granted to us. After success we have
// it, even where somebody had unlocked it meanwhile. Windows and the kernel's own word aside, nothing proves more.
func (h *hold) secure() error {
	taken, err := h.file.retake(h.ref.Mode)
	switch {
	case err != nil:
		return failed("lock", h.file.path, err)
	case !taken:
		return h.notOurs(passedOn)
	}
	patience := tries // other readers may be writing
	if h.ref.Mode == driver.Exclusive {
		patience = 1
	}
	rec, _, err := h.file.read(patience)
	if err != nil {
		return err
	}
	if !h.last(rec) {
		return h.notOurs(passedOn)
	}
	return nil
}

// last says whether nobody was granted the name since, who is not compatible with us. Every grant is written before it
// is given, and numbers never repeat.
func (h *hold) last(rec record) bool {
	if h.ref.Mode == driver.Shared {
		return rec.number >= h.number && rec.writer < h.number
	}
	return rec.owner == h.owner && rec.number == h.number
}

// drop ends the grant without a word: it is not ours, so neither is the record.
func (h *hold) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file != nil {
		h.file.drop()
		h.file = nil
	}
}
