package quorum

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

// start is when each history begins.
const start = driver.Instant(time.Hour)

// eventKind is what happens in a model.
type eventKind uint8

const (
	evWake    eventKind = iota // an actor begins a claim
	evCancel                   // the caller gives an attempt up
	evRenew                    // a holder's renewal is due
	evLeave                    // a holder gives back
	evSend                     // a request that was to be sent later
	evRun                      // a node executes a request
	evAnswer                   // an answer arrives
	evSilence                  // a request's time-out has passed
	evTrouble                  // something befalls a node
	evPause                    // an actor's process is stopped for a while
)

// event is something that happens at a moment. Claim and node are indices; which of them counts follows from the kind.
type event struct {
	at        driver.Instant
	kind      eventKind
	standing  Standing
	refused   bool // of evAnswer: the node was not there
	claim     int  // of evWake and evPause: the actor
	s         send
	answered  driver.Instant // of evRun: when the answer arrives; zero: never
	candidate int64
}

// agenda is a heap of events by time, and by the order of their making: of keys, each a time with an index behind it.
type agenda struct {
	heap   []int64
	events []event
}

const indexBits = 20

func (a *agenda) clear() { a.heap, a.events = a.heap[:0], a.events[:0] }

func (a *agenda) add(e event) {
	key := int64(e.at-start)<<indexBits | int64(len(a.events))
	a.events = append(a.events, e)
	a.heap = append(a.heap, key)
	heap := a.heap
	i := len(heap) - 1
	for i > 0 && key < heap[(i-1)/2] {
		heap[i] = heap[(i-1)/2]
		i = (i - 1) / 2
	}
	heap[i] = key
}

// next takes the earliest event out. It is valid until the agenda is cleared.
func (a *agenda) next() event {
	first := a.heap[0] & (1<<indexBits - 1)
	last := len(a.heap) - 1
	key := a.heap[last]
	a.heap = a.heap[:last]
	heap, i := a.heap, 0
	for child := 1; child < last; child = 2*i + 1 {
		least := heap[child]
		if child+1 < last && heap[child+1] < least {
			child++
			least = heap[child]
		}
		if key <= least {
			break
		}
		heap[i] = least
		i = child
	}
	if last > 0 {
		heap[i] = key
	}
	return a.events[first]
}

// dice is splitmix64: the generators of math/rand take a third of the model's time under the race detector.
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// IntN is between 0 and n-1, evenly enough.
func (d *dice) IntN(n int) int { return int(d.next() >> 1 % uint64(n)) }

// Int64N is the same.
func (d *dice) Int64N(n int64) int64 { return int64(d.next() >> 1 % uint64(n)) }

// Float64 is below 1, and not below 0.
func (d *dice) Float64() float64 { return float64(d.next()>>11) / (1 << 53) }
