package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenurelock/tenure/pglock/internal/key"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// reconcile finds out what the session has after a statement failed: locks survive errors and rollbacks, so some that nobody
// accounts for may be left (H34), and some releases may have been carried out. What nobody accounts for is given back. After
// an error, the line must be closed: that alone is certain.
func (l *line) reconcile() error {
	has, err := l.list()
	if err != nil {
		return err
	}
	var surplus []*ask
	for _, a := range l.x.asks {
		if a.err == nil {
			continue
		}
		switch a.verb {
		case toUnlock:
			if l.keys[a.lock] > 1 {
				return unsure(a.err)
			}
			if has[a.lock] { // nobody will ask again
				surplus = append(surplus, &ask{verb: toUnlock, lock: a.lock})
			}
			a.err, a.ok = nil, true
		case toLock, toWait:
			surplus, err = l.surplus(surplus, has, a, a.lock)
		case toSlot:
			for _, slot := range a.slots {
				if surplus, err = l.surplus(surplus, has, a, slot.lock); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
	if len(surplus) == 0 {
		return nil
	}
	return l.drop(surplus)
}

func (l *line) surplus(surplus []*ask, has map[lock]bool, a *ask, wanted lock) ([]*ask, error) {
	if !has[wanted] || slices.ContainsFunc(surplus, func(a *ask) bool { return a.lock == wanted }) {
		return surplus, nil
	}
	if l.keys[wanted] > 0 { // readers beside each other: it does not tell how many
		return surplus, unsure(a.err)
	}
	return append(surplus, &ask{verb: toUnlock, lock: wanted}), nil
}

func unsure(cause error) error {
	return &wire.BrokenError{Err: fmt.Errorf("closed, since it is unknown what the session holds after: %w", cause)}
}

// list asks which locks the session has.
func (l *line) list() (map[lock]bool, error) {
	has := make(map[lock]bool)
	err := l.run("mine", nil, func(values [][]byte) {
		k := key.FromLock(uint32(wire.ParseInt(values[0])), uint32(wire.ParseInt(values[1])), uint16(wire.ParseInt(values[2])))
		found, err := lockOf(k.String(), 0)
		if err == nil && wire.ParseBool(values[3]) {
			found.form |= sharing
		}
		has[found] = true
	})
	return has, err
}

// drop gives locks back that nobody accounts for, readers' as often as the session has them.
func (l *line) drop(surplus []*ask) error {
	for _, a := range surplus {
		ok, err := l.unlock(a.lock)
		if err == nil && !ok {
			err = &wire.BrokenError{Err: fmt.Errorf("closed: the server says that the session does not have %v", a.lock.key())}
		}
		for err == nil && ok && a.lock.form&sharing != 0 {
			ok, err = l.unlock(a.lock)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *line) unlock(had lock) (ok bool, err error) {
	params := [][]byte{wire.AppendInt8s(nil, []int64{had.bits}), wire.AppendInt8s(nil, []int64{had.form})}
	err = l.run("unlock_many", params, func(values [][]byte) { ok = wire.ParseBool(values[1]) })
	return ok, err
}

// run runs one statement while the turn is ours, and no exchange is under way. Its error is that of a broken line.
func (l *line) run(statement string, params [][]byte, row func(values [][]byte)) error {
	l.link.Add(statement, params...)
	if err := l.link.Send(time.Now().Add(patience)); err != nil {
		return err
	}
	h := &rows{row: row}
	for by := time.Now().Add(l.s.ttl); ; {
		err := l.link.Collect(h, by, 0)
		switch {
		case err == nil && h.err != nil:
			return &wire.BrokenError{Err: h.err}
		case err == nil:
			return nil
		case !errors.Is(err, wire.ErrInterrupted):
			return err
		case !time.Now().Before(by):
			return l.silent()
		}
	}
}

// rows handles an exchange of one statement.
type rows struct {
	row func(values [][]byte)
	err error
}

func (r *rows) Row(_ int, values [][]byte)         { r.row(values) }
func (r *rows) Done(int)                           {}
func (r *rows) Refused(_ int, err *pgconn.PgError) { r.err = err }
