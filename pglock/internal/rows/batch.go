package rows

import (
	"github.com/jackc/pgx/v5"
)

// statement makes the one statement of a batch, and what reads its answer.
func (s *Store) statement(batch []*job, channel string) (sql string, args []any, read func(pgx.Rows) error) {
	switch batch[0].kind {
	case acquiring:
		return s.sql.acquire, s.acquireArgs(batch, channel), func(rows pgx.Rows) error { return readAcquired(rows, batch) }
	case renewing:
		acqs, names, ttls := columns(batch)
		return s.sql.renew, []any{s.info.Session, acqs, names, ttls}, func(rows pgx.Rows) error { return readOurs(rows, batch, nil) }
	case releasing:
		acqs, names, _ := columns(batch)
		good := new(bool)
		return s.sql.release, []any{s.info.Session, acqs, names}, func(rows pgx.Rows) error { return readOurs(rows, batch, good) }
	}
	j := batch[0]
	return j.sql, j.args, j.read
}

// columns gives one element for each owner and name.
func columns(batch []*job) (acqs []int64, names []string, ttls []int64) {
	acqs, names, ttls = make([]int64, 0, len(batch)), make([]string, 0, len(batch)), make([]int64, 0, len(batch))
	for _, j := range batch {
		for _, name := range j.names {
			acqs, names, ttls = append(acqs, int64(j.acq)), append(names, name), append(ttls, j.ttl)
		}
	}
	return acqs, names, ttls
}

// readOurs notes which of the jobs' names were ours, and if good is asked for, whether they were until now.
func readOurs(rows pgx.Rows, batch []*job, good *bool) error {
	byAcq := make(map[uint64]*job, len(batch))
	for _, j := range batch {
		byAcq[j.acq] = j
	}
	var name string
	var acq, woken int64
	into := []any{&name, &acq}
	if good != nil {
		into = append(into, good, &woken)
	}
	_, err := pgx.ForEachRow(rows, into, func() error {
		if j := byAcq[uint64(acq)]; j != nil {
			j.ours, j.good = true, good == nil || *good
		}
		return nil
	})
	return err
}
