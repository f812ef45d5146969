package rows

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// cleanEvery is how often each session looks for what nobody uses; the first time comes earlier, at random.
	cleanEvery = 10 * time.Minute
	// cleanBatch is how many rows go in one statement.
	cleanBatch = 500
)

// Clean removes rows that nobody has used for [Config.Keep], and waiters that are gone, in batches until there are none. It
// gives how many leases went. The session does so by itself every ten minutes.
func (s *Store) Clean(ctx context.Context) (leases int, err error) {
	days := int64(math.MaxInt32 / 1000) // for ever
	if s.config.Keep > 0 {
		days = int64((s.config.Keep + 24*time.Hour - 1) / (24 * time.Hour))
	}
	for {
		var gone, waiters int
		err := s.do(ctx, &job{kind: single, sql: s.sql.clean, args: []any{days, int64(cleanBatch)}, read: func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&gone, &waiters}, func() error { return nil })
			return err
		}})
		if err != nil {
			return leases, err
		}
		leases += gone
		if gone < cleanBatch && waiters < cleanBatch {
			return leases, nil
		}
	}
}

// cleanNowAndThen runs until the session closes.
func (s *Store) cleanNowAndThen() {
	defer s.work.Done()
	timer := time.NewTimer(rand.N(cleanEvery))
	defer timer.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-timer.C:
		}
		_, _ = s.Clean(s.life) // else the next time, or by another session
		timer.Reset(cleanEvery*3/4 + rand.N(cleanEvery/2))
	}
}
