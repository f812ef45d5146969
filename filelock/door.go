package filelock

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/tenurelock/tenure/driver"
)

const (
	// doorMagic opens each door file; the mark follows.
	doorMagic = "tenure door 1\n"
	// markLife is how long a mark stands. A writer renews it every lookEvery; one that was stopped or killed while it
	// waited stops holding readers back by itself.
	markLife = 400 * time.Millisecond
	// doorPatience bounds how long a reader waits for its turn to be numbered, which takes microseconds, unless somebody
	// was stopped in just these.
	doorPatience = time.Second
	// leavePatience is the same for a reader that leaves: all it wants is to tidy up.
	leavePatience = 100 * time.Millisecond
)

// door is what readers of one name share beside its lock file.
//
// Its flock is held for the moments in which a reader changes the record, since their shared locks do not keep readers
// from each other; never while anybody waits. An exclusive holder needs no door: nobody can be beside it.
//
// Its content is a mark: a writer waits. Readers and waiting writers make the file, so that a name for which nobody ever
// waits has none. Marks are not locked: two writers that mark at once cost at most one lookEvery of standing back.
type door struct {
	path string
	me   uint64    // a random name for the mark
	file *lockFile // nil: not open
	mine bool      // a mark was written
}

// mark says which writer waits, since when, and when it last said so, on the wall clock, which processes share.
type mark struct {
	writer    uint64
	since, at int64 // ns since 1970
}

// newDoor is the door beside a lock file, not opened yet.
func newDoor(path string) *door {
	return &door{path: path + doorSuffix, me: rand.Uint64() | 1}
}

func (d *door) close() {
	if d.file != nil {
		d.file.drop()
		d.file = nil
	}
}

// open opens the door, and leaves alone what is none.
func (d *door) open(how access) error {
	if d.file != nil {
		return nil
	}
	file, err := openLock(d.path, how)
	if err != nil {
		return err
	}
	d.file = file
	if _, err := d.read(); err != nil {
		d.close()
		return err
	}
	return nil
}

// refresh closes a door that was replaced, so that the next use opens the right one.
func (d *door) refresh() error {
	if d.file == nil {
		return nil
	}
	current, err := d.file.current()
	if err == nil && !current {
		d.close()
	}
	return err
}

// lock takes the door, within patience. It is made only if it may be.
func (d *door) lock(ctx context.Context, how access, patience time.Duration) error {
	begun := time.Now()
	for round := 1; ; round++ {
		if err := d.open(how); err != nil {
			return err
		}
		taken, err := d.file.lock(driver.Exclusive)
		if err != nil {
			return failed("lock", d.path, err)
		}
		if taken {
			if taken, err = d.file.current(); taken && err == nil {
				return nil
			}
			d.close()
			if err != nil {
				return err
			}
		}
		if time.Since(begun) > patience || !pause(ctx, round) {
			return asFault(driver.Passing, fmt.Errorf("filelock: %s is locked by somebody who makes no progress", d.path))
		}
	}
}

func (d *door) unlock() { _ = d.file.unlock() } // closing follows, and unlocks too

// read gives the mark; the zero one stands for none.
func (d *door) read() (mark, error) {
	buf := make([]byte, 128)
	n, err := d.file.readAt(buf, 0)
	if err != nil {
		return mark{}, failed("read", d.path, err)
	}
	text, ours := bytes.CutPrefix(buf[:n], []byte(doorMagic))
	if !ours && len(bytes.Trim(buf[:n], "\x00")) > 0 && !bytes.HasPrefix([]byte(doorMagic), buf[:n]) {
		return mark{}, foreignFault(d.path)
	}
	return parseMark(text), nil
}

// parseMark reads a mark. One that is torn, by a writer in its middle, may pass for none, or for another's: it will be
// whole at the next look.
func parseMark(text []byte) (m mark) {
	fields := bytes.Fields(text)
	if len(fields) != 3 {
		return mark{}
	}
	var errs [3]error
	m.writer, errs[0] = strconv.ParseUint(string(fields[0]), 16, 64)
	m.since, errs[1] = strconv.ParseInt(string(fields[1]), 10, 64)
	m.at, errs[2] = strconv.ParseInt(string(fields[2]), 10, 64)
	if errs != [3]error{} {
		return mark{}
	}
	return m
}

func (d *door) write(m mark) error {
	_, err := d.file.writeAt(fmt.Appendf(nil, "%s%016x %019d %019d\n", doorMagic, m.writer, m.since, m.at), 0)
	return err
}

// stands says whether the mark is fresh, and not from before a step of the clock.
func (m mark) stands(now time.Time) bool {
	age := now.Sub(time.Unix(0, m.at))
	return m.writer != 0 && age < markLife && age > -markLife
}

// announce marks that a writer has waited since then. The mark of one that has waited longer stays, as long as it is
// renewed. Best effort: without a mark, writer and readers are on equal terms.
func (d *door) announce(since, now time.Time) {
	if d.open(create) != nil {
		return
	}
	found, err := d.read()
	if err != nil || found.writer != d.me && found.stands(now) && found.since <= since.UnixNano() {
		return
	}
	d.mine = d.write(mark{d.me, since.UnixNano(), now.UnixNano()}) == nil || d.mine
}

// withdraw takes this writer's mark away, if it is there.
func (d *door) withdraw() {
	if !d.mine || d.file == nil {
		return
	}
	if found, err := d.read(); err == nil && found.writer == d.me {
		_ = d.write(mark{}) // it goes stale by itself
	}
	d.mine = false
}

// mustWaive says whether a reader leaves an attempt out, because a writer has waited longer.
func (t *target) mustWaive() (bool, error) {
	if t.ask.req.Mode != driver.Shared {
		return false, nil
	}
	if err := t.door.open(create); err != nil {
		return false, err
	}
	found, err := t.door.read()
	return found.stands(time.Now()) && found.since < t.ask.since.UnixNano(), err
}
