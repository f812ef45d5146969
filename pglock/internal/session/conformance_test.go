package session

import (
	"testing"
	"time"

	"github.com/tenurelock/tenure/locktest"
)

func TestRules(t *testing.T) {
	t.Parallel()
	url := server.Database(t)
	// In a group, so that the database outlives the rules, which are parallel.
	t.Run("rules", func(t *testing.T) {
		locktest.Run(t, locktest.Harness{
			At:     func(ttl time.Duration) string { return ttl.String() + " " + url },
			Reopen: reopen,
			Twins:  [][2]string{{"report/daily", "pgkey:-5458690720518791401"}},
			Seeds:  1,
		})
	})
}
