package session

import (
	"sync"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// verb is what is asked of a line.
type verb uint8

const (
	toLock   verb = iota // try a lock, and number it
	toUnlock             // give a lock back
	toDraw               // number a lock that the line has
	toSlot               // try several locks, and take one
	toWait               // wait for a lock, and number it
	toBeat               // prove that the session lives
	toQuery              // run any other statement
)

// ask is one thing that is asked of a line. It belongs to the caller until it is submitted, to the line until it is done.
type ask struct {
	verb  verb
	claim *claim // whose lock it is about; nil of toBeat and toQuery
	lock  lock
	slots []slot // of toSlot
	again bool   // of toLock: the session has it already, as a reader; the line sets it

	statement string // of toQuery
	params    [][]byte
	row       func(values [][]byte)

	// The answer, from here on.
	sent     driver.Instant // before the first byte of it left; zero: it was not sent
	number   int64          // 0: not granted
	sequence uint32         // which it was to be drawn from
	high     int64          // the ceiling, as the line knew it or the statement read it
	at       time.Time      // the server's clock; after a wait as it is estimated
	slot     int            // which slot was granted
	ok       bool           // of toUnlock: the line had it
	locks    int64          // of toBeat: how many locks the session has
	err      error
	orphan   bool // nobody waited for the lock any more when it was granted

	inline bool // the caller sees to it itself
	waited int  // ticks since it was asked; guarded by the line's mu
	// done has true when it is answered, and not inline; before that it may once have false, which tells the caller to look
	// whether it still wants to wait.
	done chan bool
}

var asks = sync.Pool{New: func() any { return &ask{done: make(chan bool, 2)} }}

func newAsk(v verb) *ask {
	a := asks.Get().(*ask)
	*a = ask{verb: v, done: a.done}
	return a
}

// free gives an ask back that was answered, or never sent.
func (a *ask) free() { asks.Put(a) }

// granted says whether a lock was taken.
func (a *ask) granted() bool {
	switch a.verb {
	case toLock, toSlot:
		return a.err == nil && a.number > 0
	case toWait:
		return a.err == nil
	}
	return false
}
