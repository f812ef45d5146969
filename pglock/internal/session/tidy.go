package session

import (
	"context"

	"github.com/tenurelock/tenure/pglock/internal/wire"
)

// tidy removes, over the main line, what is left of others: lists of sessions that are gone, and names that nobody has used
// for long. Neither waits for anybody, and where it fails it is left to the next time.
func (s *Store) tidy(ctx context.Context, l *line) {
	_, _ = l.query(ctx, "sweep", nil, nil)
	if s.opts.Keep >= 0 {
		_, _ = l.query(ctx, "tidy_names", [][]byte{wire.Int8(int64(s.opts.Keep))}, nil)
	}
}
