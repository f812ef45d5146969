package session

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// patience is how long the sending of an exchange may take.
const patience = 10 * time.Second

// exchange is one message to the server and its answer: what several callers asked for, in as few statements as possible.
type exchange struct {
	open   bool // sent, and not answered yet
	asks   []*ask
	parts  []part
	groups int
	sent   driver.Instant
	had    int    // how many locks the session had when it was sent
	grants uint32 // the sequence to number from
	unlock uint32 // the function that unlocks, where it may be called by its oid; or zero
	params []byte // room for what is sent
	arrays [2][]int64
	by     [toQuery + 1][]*ask // asks by their verbs; parts share it
}

// part is one statement of an exchange.
type part struct {
	verb  verb
	asks  []*ask // in the order of the statement's rows, unless those tell their places
	rows  int    // that have come
	group int    // parts of one group share a transaction
	done  bool
	err   error
}

var errSkipped = errors.New("the server did not run it, since a statement before it failed")

// send composes an exchange of the asks, and sends it.
func (x *exchange) send(link *wire.Link, batch []*ask) error {
	x.asks = append(x.asks[:0], batch...)
	x.parts, x.params, x.groups = x.parts[:0], x.params[:0], 0
	x.open = true
	if len(batch) == 1 {
		x.compose(link, batch)
	} else {
		x.sort(link)
	}
	x.sent = driver.Now()
	for _, a := range x.asks {
		a.sent, a.sequence = x.sent, x.grants
	}
	return link.Send(x.sent.Add(patience).Time())
}

// sort puts what is alike together: heartbeats come first, since they count what the session has before the exchange, then
// what gives locks back, then what takes them. Other statements have transactions of their own.
func (x *exchange) sort(link *wire.Link) {
	by := &x.by
	for v := range by {
		by[v] = by[v][:0]
	}
	for _, a := range x.asks {
		by[a.verb] = append(by[a.verb], a)
	}
	for _, v := range [...]verb{toBeat, toUnlock, toDraw, toLock, toSlot, toWait, toQuery} {
		if len(by[v]) > 0 {
			x.compose(link, by[v])
		}
		if v == toBeat && len(x.parts) > 0 {
			x.cut(link)
		}
	}
}

func (x *exchange) cut(link *wire.Link) {
	link.Cut()
	x.groups++
}

// compose adds asks of one verb.
func (x *exchange) compose(link *wire.Link, alike []*ask) {
	first := alike[0]
	switch v := first.verb; {
	case v == toBeat:
		x.add(link, "beat", v, alike)
	case (v == toLock || v == toUnlock) && len(alike) == 1 && first.lock.form == 0:
		switch {
		case v == toLock:
			x.add(link, "lock", v, alike, x.int8(first.lock.bits), x.sequence())
		case len(x.asks) == 1 && x.unlock != 0:
			link.Call(x.unlock, x.int8(first.lock.bits))
			x.parts = append(x.parts, part{verb: v, asks: alike, group: x.groups})
		default:
			x.add(link, "unlock", v, alike, x.int8(first.lock.bits))
		}
	case v == toLock || v == toUnlock:
		x.many(link, v, alike)
	default:
		for i := range alike {
			x.single(link, alike[i:i+1])
		}
	}
}

// many adds asks for locks, or unlocks, in one statement: a simpler one where all are plain.
func (x *exchange) many(link *wire.Link, v verb, alike []*ask) {
	keys, forms := x.arrays[0][:0], x.arrays[1][:0]
	plain, held := true, false
	for _, a := range alike {
		form := a.lock.form
		if a.again {
			held, form = true, form|again
		}
		plain = plain && form == 0
		keys, forms = append(keys, a.lock.bits), append(forms, form)
	}
	x.arrays = [2][]int64{keys, forms}
	switch {
	case v == toLock && plain:
		x.add(link, "lock_plain", v, alike, x.int8s(keys), x.sequence())
	case v == toLock && held:
		x.add(link, "lock_again", v, alike, x.int8s(keys), x.int8s(forms), x.sequence())
	case v == toLock:
		x.add(link, "lock_many", v, alike, x.int8s(keys), x.int8s(forms), x.sequence())
	case plain:
		x.add(link, "unlock_plain", v, alike, x.int8s(keys))
	default:
		x.add(link, "unlock_many", v, alike, x.int8s(keys), x.int8s(forms))
	}
}

// single adds an ask that has statements of its own.
func (x *exchange) single(link *wire.Link, one []*ask) {
	switch a := one[0]; a.verb {
	case toDraw:
		x.add(link, "draw", toDraw, one, x.sequence())
	case toSlot:
		var keys, forms []int64
		for _, one := range a.slots {
			keys, forms = append(keys, one.bits), append(forms, one.form)
		}
		x.add(link, "lock_slot", toSlot, one, x.int8s(keys), x.int8s(forms), x.sequence())
	case toWait:
		x.add(link, waits[a.lock.form], toWait, one, x.int8(a.lock.bits), x.sequence())
	default:
		if len(x.parts) > 0 && x.parts[len(x.parts)-1].group == x.groups {
			x.cut(link)
		}
		x.add(link, a.statement, toQuery, one, a.params...)
	}
}

func (x *exchange) add(link *wire.Link, statement string, v verb, asks []*ask, params ...[]byte) {
	link.Add(statement, params...)
	x.parts = append(x.parts, part{verb: v, asks: asks, group: x.groups})
}

func (x *exchange) int8(v int64) []byte {
	from := len(x.params)
	x.params = wire.AppendInt8(x.params, v)
	return x.params[from:]
}

// sequence is the parameter for the sequence that grants are numbered from.
func (x *exchange) sequence() []byte {
	from := len(x.params)
	x.params = binary.BigEndian.AppendUint32(x.params, x.grants)
	return x.params[from:]
}

func (x *exchange) int8s(v []int64) []byte {
	from := len(x.params)
	x.params = wire.AppendInt8s(x.params, v)
	return x.params[from:]
}

// Row takes one row of an answer.
func (x *exchange) Row(statement int, values [][]byte) {
	p := &x.parts[statement]
	a := p.asks[min(p.rows, len(p.asks)-1)]
	p.rows++
	switch {
	case p.verb == toQuery:
		if a.row != nil {
			a.row(values)
		}
	case p.verb == toBeat:
		for _, a := range p.asks {
			a.number, a.locks, a.ok = wire.ParseInt(values[0]), wire.ParseInt(values[1]), true
		}
	case p.verb == toSlot:
		a.slot = int(wire.ParseInt(values[0])) - 1
		a.numbered(values[1:])
	case p.verb == toLock && len(values) == 3:
		if a := p.place(values[0]); a != nil {
			a.numbered(values[1:])
		}
	case p.verb == toUnlock && len(values) == 2:
		if a := p.place(values[0]); a != nil {
			a.ok = wire.ParseBool(values[1])
		}
	case p.verb == toUnlock:
		a.ok = wire.ParseBool(values[0])
	default:
		a.numbered(values)
	}
}

func (p *part) place(value []byte) *ask {
	if i := wire.ParseInt(value); i >= 1 && int(i) <= len(p.asks) {
		return p.asks[i-1]
	}
	return nil
}

func (a *ask) numbered(values [][]byte) {
	a.number = wire.ParseInt(values[0])
	if len(values) > 1 {
		a.at = wire.ParseTime(values[1])
	}
	if len(values) > 2 {
		a.high = wire.ParseInt(values[2])
	}
}

// Done notes that a statement succeeded.
func (x *exchange) Done(statement int) { x.parts[statement].done = true }

// Refused notes that a statement failed.
func (x *exchange) Refused(statement int, err *pgconn.PgError) { x.parts[statement].err = err }

// settle sorts out what failed when all answers have come, and says whether it is unknown which locks the line has now.
func (x *exchange) settle() (unsure bool) {
	if x.allDone() {
		return false
	}
	failed := make(map[int]error)
	for i := range x.parts {
		p := &x.parts[i]
		if p.err == nil && p.done {
			continue
		}
		if p.err == nil {
			if p.err = failed[p.group]; p.err == nil {
				p.err = errSkipped
			}
		}
		failed[p.group] = p.err
	}
	for i := range x.parts {
		p := &x.parts[i]
		err := failed[p.group]
		if err == nil {
			continue
		}
		for _, a := range p.asks {
			a.err = err
		}
		unsure = unsure || p.verb != toBeat && p.verb != toQuery
	}
	return unsure
}

func (x *exchange) allDone() bool {
	for i := range x.parts {
		if !x.parts[i].done {
			return false
		}
	}
	return true
}
