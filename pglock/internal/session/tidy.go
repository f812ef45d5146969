package session

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/pglock/internal/schema"
)

// tidyNames removes some names that nobody has used for $1 days: few at a time, since somebody waits.
const tidyNames = `delete from tenure.name where (key, name) in
  (select key, name from tenure.name where used < current_date - $1::int limit 1000 for update skip locked)`

// tidy removes what is left of others, on a connection that is being set up: lists of sessions that are gone, and names that
// nobody uses.
func (s *Store) tidy(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, schema.Sweep); err != nil {
		return fmt.Errorf("tidy the list of leases: %w", err)
	}
	if s.opts.Keep < 0 {
		return nil
	}
	if _, err := conn.Exec(ctx, tidyNames, s.opts.Keep); err != nil {
		return fmt.Errorf("tidy the list of names: %w", err)
	}
	return nil
}
