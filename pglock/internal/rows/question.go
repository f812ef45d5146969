package rows

import (
	"math/rand/v2"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
)

// question is what one acquisition asks, once or again and again while it waits, always under the same owner: the next one
// is sent only after the last has been answered, and that answer was no.
type question struct {
	claim *claim
	req   *driver.Request // belongs to the caller: read only while it waits
	self  driver.Holder
	order []int // in which the slots are tried, from a random one on
	name  string
	ttl   int64
	wait  bool
	once  int64
	gap   int64
	pause int64 // by when it will have asked again
	since int64 // of its waiting; zero at first

	// Written by the combiner before the job is answered.
	sent    driver.Instant
	listens bool // it was asked with the channel on which the session listens
	verdict verdict
}

// verdict is the database's answer. Times are in µs.
type verdict struct {
	won, raced, waits, done, free bool
	name                          string
	number, granted, since, now   int64
	ran, leftOfGap                int64
	ahead, due, expires           int64
	holder                        driver.Holder
}

func newQuestion(c *claim, req *driver.Request, ttl int64) *question {
	q := &question{
		claim: c, req: req, name: req.Key, ttl: ttl, wait: req.Wait,
		once: micros(req.OncePer), gap: micros(req.Gap),
	}
	if req.Holder != nil {
		q.self = *req.Holder
	}
	if n := len(req.Slots); n > 0 {
		first := rand.IntN(n)
		for i := range n {
			q.order = append(q.order, (first+i)%n)
		}
	}
	return q
}

// candidates gives the names that would do, in the order in which to try them.
func (q *question) candidates() []string {
	if q.order == nil {
		return []string{q.name}
	}
	names := make([]string, len(q.order))
	for i, slot := range q.order {
		names[i] = q.claim.names[slot]
	}
	return names
}

// slot is the index of a name among the slots.
func (q *question) slot(name string) int {
	for i, slot := range q.req.Slots {
		if slot.Key == name {
			return i
		}
	}
	return 0
}

// text is a description that any PostgreSQL takes: names are checked, but what a program says of itself is shown anyhow.
func text(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
}

func (s *Store) acquireArgs(batch []*job, channel string) []any {
	n := len(batch)
	if batch[0].asks == nil {
		n = 0 // New asks for nothing
	}
	acqs, names, ttls, hosts, pids := make([]int64, n), make([]string, n), make([]int64, n), make([]string, n), make([]int64, n)
	programs, notes, onces, gaps := make([]string, n), make([]string, n), make([]int64, n), make([]int64, n)
	waits, sinces, pauses := make([]bool, n), make([]int64, n), make([]int64, n)
	whose, candidates := make([]int64, 0, n), make([]string, 0, n)
	for i := range n {
		q := batch[i].asks
		acqs[i], names[i], ttls[i] = int64(q.claim.acq), q.name, q.ttl
		hosts[i], pids[i], programs[i], notes[i] = text(q.self.Host), int64(q.self.PID), text(q.self.Program), text(q.self.Note)
		onces[i], gaps[i], waits[i], sinces[i], pauses[i] = q.once, q.gap, q.wait, q.since, q.pause
		for _, name := range batch[i].names {
			whose, candidates = append(whose, acqs[i]), append(candidates, name)
		}
	}
	return []any{
		s.info.Session, channel,
		acqs, names, ttls, hosts, pids, programs, notes, onces, gaps, waits, sinces, pauses,
		whose, candidates,
	}
}

func readAcquired(rows pgx.Rows, batch []*job) error {
	byAcq := make(map[uint64]*question, len(batch))
	for _, j := range batch {
		if j.asks != nil {
			byAcq[j.acq] = j.asks
		}
	}
	var acq, holderAcq, holderSince, pid int64
	var v verdict
	h := &v.holder
	_, err := pgx.ForEachRow(rows, []any{
		&acq, &v.won, &v.raced, &v.waits, &v.since, &v.name, &v.number, &v.granted,
		&v.now, &v.done, &v.leftOfGap, &v.ran, &v.free, &v.ahead, &v.due,
		&v.expires, &h.Session, &holderAcq, &h.Number, &holderSince, &h.Host, &pid, &h.Program, &h.Note,
	}, func() error {
		if q := byAcq[uint64(acq)]; q != nil {
			q.verdict = v
			q.verdict.holder.Acq, q.verdict.holder.PID, q.verdict.holder.Since = uint64(holderAcq), int(pid), at(holderSince)
		}
		return nil
	})
	return err
}
