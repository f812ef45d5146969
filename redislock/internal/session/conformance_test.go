package session

import (
	"context"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/locktest"
)

// TestRules runs the rules of every store, without a grace and with one.
func TestRules(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]time.Duration{"ttl": 0, "grace": 1500 * time.Millisecond} {
		ttl := max(time.Second, 2*grace)
		t.Run(name, func(t *testing.T) {
			address := grace.String() + " " + server.Address()
			locktest.Run(t, locktest.Harness{
				Open:    func(context.Context) (driver.Store, error) { return reopen(address) },
				TTL:     ttl,
				Freed:   ttl + 500*time.Millisecond,
				Address: address, Reopen: reopen,
				Seeds: 1,
			})
		})
	}
}
