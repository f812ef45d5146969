package filelock

import (
	"context"
	"strings"

	"github.com/tenurelock/tenure/driver"
)

// leave is a reader's release. Its name goes out of the record; the last one to leave says that it is free. All under the
// door, so that no reader comes in between and is wiped out.
func (h *hold) leave() error {
	if err := h.secure(); err != nil {
		return err
	}
	d := newDoor(strings.TrimSuffix(h.file.path, lockSuffix))
	defer d.close()
	// Release detaches: a context that is over must not leave the name in the record (H13).
	if d.lock(context.Background(), create, leavePatience) != nil {
		return nil // the record keeps its name, until the next reader's
	}
	rec, old, err := h.file.read(1)
	if err != nil || rec.state != shared {
		return nil
	}
	if rec.owner == h.owner {
		// Before the upgrade: where that fails, the shared lock may be gone too, and a writer in.
		rec.owner = "-"
		rec.describe(driver.Holder{Mode: driver.Shared})
		if h.file.write(rec, old) != nil {
			return nil
		}
	}
	if alone, err := h.file.upgrade(); err == nil && alone {
		if rec, old, err = h.file.read(1); err == nil && rec.state == shared {
			rec.state = free
			_ = h.file.write(rec, old) // a record that says "held" is not believed without a lock
		}
	}
	return nil
}
