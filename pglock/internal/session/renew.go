package session

import (
	"context"
	"fmt"
	"sync"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// Renew proves grants by a heartbeat on each line that has some: while the session lives, so do its locks, and the heartbeat
// counts them.
func (s *Store) Renew(ctx context.Context, batch []driver.Renewal) {
	by := make(map[*line][]*driver.Renewal)
	s.mu.Lock()
	for i := range batch {
		r := &batch[i]
		c := s.claims[r.Acq]
		switch {
		case s.closed:
			r.Err = s.closedFault()
		case c == nil || c.state != held:
			r.Err = driver.ErrNotOurs
		default:
			by[c.line] = append(by[c.line], r)
		}
	}
	s.mu.Unlock()
	var beats sync.WaitGroup
	for l, renewals := range by {
		if len(by) == 1 {
			s.beat(ctx, l, renewals)
			return
		}
		beats.Go(func() { s.beat(ctx, l, renewals) })
	}
	beats.Wait()
}

func (s *Store) beat(ctx context.Context, l *line, renewals []*driver.Renewal) {
	s.chores(l, renewals)
	a := newAsk(toBeat)
	var sent driver.Instant
	err := l.do(ctx, a)
	if err == nil {
		sent, err = a.sent, a.err
		a.free()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range renewals {
		c := s.claims[r.Acq]
		switch {
		case c == nil || c.state != held:
			r.Err = driver.ErrNotOurs
		case err != nil:
			r.Err = passing(fmt.Errorf("heartbeat: %w", err))
		default:
			c.proved = max(c.proved, sent)
			r.Err, r.Proof = nil, driver.Proof{Sent: sent, Valid: s.ttl}
		}
	}
}

// chores sends what can wait for a heartbeat: names that are new, and leases that outlived one and are to be listed.
func (s *Store) chores(l *line, renewals []*driver.Renewal) {
	if names := s.names.ask(); names != nil {
		l.later(names)
	}
	var old []*claim
	s.mu.Lock()
	any := false
	for _, r := range renewals {
		if c := s.claims[r.Acq]; c != nil && c.state == held && c.line == l {
			if any = any || c.listed; !c.listed {
				c.listed = true
				old = append(old, c)
			}
		}
	}
	if len(old) > 0 || any {
		l.later(s.list(old)) // with mu held, so that no release can come before it
	}
	s.mu.Unlock()
}

// list gives, with mu held, a statement that lists claims in tenure.holding, and hears which of the session's are wanted back.
func (s *Store) list(old []*claim) *ask {
	var acqs, classes, objects, forms, shared, numbers, sinces, pids []int64
	var names, hosts, programs, notes []string
	for _, c := range old {
		holder := c.described()
		class, object, form := c.lock.shown()
		acqs, classes, objects, forms = append(acqs, int64(c.ref.Acq)), append(classes, class), append(objects, object), append(forms, form)
		shared, numbers, sinces = append(shared, c.lock.form&sharing), append(numbers, c.number), append(sinces, c.since)
		pids, names, hosts = append(pids, int64(holder.PID)), append(names, c.ref.Name), append(hosts, holder.Host)
		programs, notes = append(programs, holder.Program), append(notes, holder.Note)
	}
	a := newAsk(toQuery)
	a.statement = "list"
	a.params = [][]byte{
		[]byte(s.info.Session), wire.AppendInt8s(nil, acqs), wire.AppendInt8s(nil, classes), wire.AppendInt8s(nil, objects),
		wire.AppendInt8s(nil, forms), wire.AppendInt8s(nil, shared), wire.AppendTexts(nil, names), wire.AppendInt8s(nil, numbers),
		wire.AppendInt8s(nil, sinces), wire.AppendTexts(nil, hosts), wire.AppendInt8s(nil, pids), wire.AppendTexts(nil, programs),
		wire.AppendTexts(nil, notes),
	}
	a.row = func(values [][]byte) { s.asked(uint64(wire.ParseInt(values[0])), string(values[1])) }
	return a
}

// asked tells a holder that somebody wants its lease.
func (s *Store) asked(acq uint64, by string) {
	s.mu.Lock()
	c := s.claims[acq]
	told := c == nil || c.state != held || c.wanted
	if !told {
		c.wanted = true
	}
	s.mu.Unlock()
	if !told {
		c.watch.Asked(by)
	}
}
