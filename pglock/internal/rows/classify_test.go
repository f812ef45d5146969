package rows

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// TestLastingFaults are those that somebody must mend: each says how.
func TestLastingFaults(t *testing.T) {
	t.Parallel()
	direct := database(t, server)
	role := "role_" + fmt.Sprint(time.Now().UnixNano())
	exec(t, direct, "create role "+role+" login; grant usage on schema tenure to "+role+"; grant select on tenure.lease, tenure.waiter to "+role)
	t.Cleanup(func() {
		server.SQL(t, direct, "drop owned by "+role)
		server.SQL(t, "", "drop role "+role)
	})
	as, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	as.User = url.User(role)
	for name, at := range map[string]struct{ url, says string }{
		"no tables":     {server.Database(t), "Migrate"},
		"no permission": {as.String(), "SELECT, INSERT, UPDATE and DELETE"},
		"no database":   {strings.Replace(direct, "test_", "none_", 1), "does not exist"},
		"no strings":    {direct + "&standard_conforming_strings=off", "standard_conforming_strings"},
	} {
		_, err := reopen(at.url)
		if !kindIs(err, driver.Lasting) || !strings.Contains(err.Error(), at.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPassingFaults are those that end by themselves.
func TestPassingFaults(t *testing.T) {
	t.Parallel()
	direct := database(t, server)
	url, proxy := through(t, direct)
	s := open(t, url)
	proxy.Refuse(true)
	proxy.Cut()
	c := s.claim(t, "x").start(t.Context()).ends(prompt)
	if c.err == nil || kindIs(c.err, driver.Lasting) {
		t.Errorf("where nobody listens: %v", c.err)
	}
	c = s.claim(t, "x").start(t.Context()).ends(prompt)
	if !kindIs(c.err, driver.Passing) {
		t.Errorf("where nobody listens, the second time: %v", c.err)
	}
	proxy.Refuse(false)
	s.take(t, "x")

	_, err := reopen(direct + "&default_transaction_read_only=on")
	if !kindIs(err, driver.Passing) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a database that is read-only: %v", err)
	}
}

// TestSerializationFailurePasses: a role whose transactions are stricter loses races with an error, and goes on.
func TestSerializationFailurePasses(t *testing.T) {
	t.Parallel()
	direct := database(t, server)
	a, b := open(t, direct+"&default_transaction_isolation=serializable"), open(t, direct+"&default_transaction_isolation=serializable")
	for range 20 {
		x, y := a.claim(t, "x").start(t.Context()), b.claim(t, "x").start(t.Context())
		granted := 0
		for _, c := range []*claiming{x, y} {
			switch c.ends(prompt); {
			case c.err == nil:
				granted++
				if err := c.release(); err != nil && !kindIs(err, driver.Passing) {
					t.Error(err)
				}
				c.abandons()
			case !kindIs(c.err, driver.Passing) && !errors.As(c.err, new(*driver.HeldError)):
				t.Error(c.err)
			}
		}
	}
}
