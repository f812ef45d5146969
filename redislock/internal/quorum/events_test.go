package quorum

import "github.com/tenurelock/tenure/driver"

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
)

// event is something that happens at a moment. Claim and node are indices; which of them counts follows from the kind.
type event struct {
	at        driver.Instant
	order     int
	kind      eventKind
	standing  Standing
	refused   bool // of evAnswer: the node was not there
	claim     int  // of evWake: the actor
	s         send
	answered  driver.Instant // of evRun: when the answer arrives; zero: never
	candidate int64
}

// agenda is a heap of events by time, and by order of their making.
type agenda struct {
	heap  []event
	order int
}

func (a *agenda) before(i, j int) bool {
	x, y := &a.heap[i], &a.heap[j]
	return x.at < y.at || x.at == y.at && x.order < y.order
}

func (a *agenda) add(e event) {
	a.order++
	e.order = a.order
	a.heap = append(a.heap, e)
	for i := len(a.heap) - 1; i > 0 && a.before(i, (i-1)/2); i = (i - 1) / 2 {
		a.heap[i], a.heap[(i-1)/2] = a.heap[(i-1)/2], a.heap[i]
	}
}

func (a *agenda) next() event {
	first := a.heap[0]
	last := len(a.heap) - 1
	a.heap[0] = a.heap[last]
	a.heap = a.heap[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if a.before(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
}
