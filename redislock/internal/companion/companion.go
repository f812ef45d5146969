// Package companion names the keys that stand beside a lock's own: in its slot of a Cluster whatever its name, and never those of
// another lock.
//
// A name is used in one of three forms, each with an ending of its own:
//
//	a name with a hash tag      a{b}c      a{b}c:tenure:queue
//	another                     abc        {abc}:tenure1:queue
//	one that no tag can hold    a}b        {TAG}a}b:tenure2:queue, where TAG is a short word of the name's slot
//
// No two locks share a companion, nor do two kinds of one lock, for Of can be undone:
//
//   - A kind has no colon, so what follows the last colon is the kind.
//   - What is in front of that ends with one of ":tenure:", ":tenure1:" and ":tenure2:". None of them is an end of another, so
//     it tells the form, and the rest is the name in that form.
//   - In the first form the rest is the name; in the second it is the name in braces; in the third the name follows the first
//     "}", since a word has none.
//
// With one ending for all, the lock {x} would have the companions of the lock x, and the lock {TAG}a}b those of the lock a}b.
//
// None is a lock's own key, since Check refuses every name that ends with a form and a kind. None is the mark of a session, which
// begins with "tenure:suspect:": a companion begins with "{", or with a name that has a "{" and that Check lets pass.
//
// All are in the lock's slot. In the first form the first "{" and the first "}" after it stay where they were. In the second the
// name has no "}", so the tag is the whole name, and a name without a tag has the slot of all its bytes. In the third the tag is
// a word of that slot.
package companion

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Kind is what a companion is for.
type Kind string

// The kinds. Those of slots are for the queue that the slots of a group share, beside that of the group's name.
const (
	Queue       Kind = "queue"
	Waiters     Kind = "waiters"
	Readers     Kind = "readers"
	Ran         Kind = "ran"
	State       Kind = "state"
	SlotQueue   Kind = "slot-queue"
	SlotWaiters Kind = "slot-waiters"
	SlotReaders Kind = "slot-readers"
	SlotRan     Kind = "slot-ran"
)

var kinds = []Kind{Queue, Waiters, Readers, Ran, State, SlotQueue, SlotWaiters, SlotReaders, SlotRan}

// forms are the endings before the kind.
const (
	tagged   = ":tenure:"
	wrapped  = ":tenure1:"
	borrowed = ":tenure2:"
)

// session is how the keys of sessions begin.
const session = "tenure:suspect:"

// longest is the length of a key at most. Redis would take 512 MB, and keep it nine times.
const longest = 1024

// Check says why a key cannot be a lock's.
func Check(key string) error {
	switch {
	case key == "":
		return errors.New("an empty name; Redis would take it, and nobody would find it")
	case len(key) > longest:
		return fmt.Errorf("a name of %d bytes; at most %d are possible", len(key), longest)
	case strings.HasPrefix(key, session):
		return fmt.Errorf("the name begins with %q, as keys of Tenure's own do; any other beginning is right", session)
	}
	// Whatever the kind, since there may be more of them some day.
	at := strings.LastIndexByte(key, ':')
	for _, form := range []string{tagged, wrapped, borrowed} {
		if strings.HasSuffix(key[:at+1], form) {
			return fmt.Errorf("the name ends with %q, as keys of Tenure's own do; any other end is right", form+key[at+1:])
		}
	}
	return nil
}

// Of names a lock's companion.
func Of(lock string, kind Kind) string {
	if _, has := hashTag(lock); has {
		return lock + tagged + string(kind)
	}
	if !strings.Contains(lock, "}") && lock != "" { // then the first "}" after the first "{" is the one that is added
		return "{" + lock + "}" + wrapped + string(kind)
	}
	return "{" + words()[Slot(lock)] + "}" + lock + borrowed + string(kind)
}

// words has a short hash tag for each slot: the first number in base 36 that is in it, which has four digits at most. They are
// parts of keys, so other words would part the processes of two releases.
var words = sync.OnceValue(findWords)

func findWords() *[Slots]string {
	var found [Slots]string
	var word [13]byte // as many digits as a uint64 has at most
	for n, left := uint64(0), Slots; left > 0; n++ {
		digits := strconv.AppendUint(word[:0], n, 36)
		if at := &found[checksum(string(digits))%Slots]; *at == "" { // a string that is only looked at is not allocated
			*at = string(digits)
			left--
		}
	}
	return &found
}
