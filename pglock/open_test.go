package pglock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock"
)

// TestOpen takes the mode from the URL, and the rest from the options.
func TestOpen(t *testing.T) {
	t.Parallel()
	database := pglock.SharedServer.Database(t)
	for setting, fixed := range map[string]bool{"": true, "&tenure_mode=sessions": true, "&tenure_mode=rows": false} {
		store := storeAt(t, database+setting, pglock.Options{TTL: 7 * time.Second})
		info := store.Info()
		if info.TTL != 7*time.Second || info.FixedTTL != fixed || strings.Contains(info.Address, "postgres@") {
			t.Errorf("%q: a TTL of %v, fixed: %v, at %s", setting, info.TTL, info.FixedTTL, info.Address)
		}
		if !info.Guarantees.Promises.Has(driver.FencingSurvivesCrash) {
			t.Errorf("%q: %v", setting, info.Guarantees.Promises)
		}
	}
	// Both modes are at once over one database, and do not exclude each other.
	must(t, leaseOf(t, lockerAt(t, database, pglock.Options{}), "x").Release(t.Context()))
	must(t, leaseOf(t, lockerAt(t, database+"&tenure_mode=rows", pglock.Options{}), "x").Release(t.Context()))
}

// TestOpenRefuses what can never be right, and says what would be.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	database := pglock.SharedServer.Database(t)
	for _, c := range []struct {
		url  string
		opts pglock.Options
		says string
	}{
		{database, pglock.Options{Mode: 7}, "Sessions or Rows is right"},
		{database, pglock.Options{TTL: time.Millisecond}, "at least 100ms"},
		{database, pglock.Options{TTL: 1000 * time.Hour}, "at most 24h"},
		{database + "&tenure_mode=row", pglock.Options{}, "sessions or rows is right"},
		{database + "&tenure_pooler=yes", pglock.Options{}, "session is right"},
		{database + "&tenure_x=y", pglock.Options{}, "tenure_x is no setting"},
	} {
		store, err := pglock.Open(patient(t), c.url, c.opts)
		if err == nil {
			must(t, store.Close(t.Context()))
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", c.url, err, c.says)
		}
	}
	if _, err := pglock.New(patient(t), nil, pglock.Options{}); err == nil || !strings.Contains(err.Error(), "nil configuration") {
		t.Error(err)
	}
	if err := pglock.Migrate(patient(t), nil, pglock.MigrateOptions{}); err == nil || !strings.Contains(err.Error(), "nil configuration") {
		t.Error(err)
	}
}

// TestPasswordsAreNotRepeated by an error of Open, wherever a mistake has led a part of one.
func TestPasswordsAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://u:hunter2@127.0.0.1:1/db", "postgres://u:a@hunter2@127.0.0.1:1/db", "postgres://u:a/hunter2@127.0.0.1:1/db",
		"postgres://u:a/b?hunter2@127.0.0.1/db", "postgres://u:hunter2%zz@127.0.0.1/db", "postgres://u@127.0.0.1:1/db?password=hunter2",
		"host=127.0.0.1 port=1 password=hunter2", "host=127.0.0.1 port=1 password='hunter2",
	} {
		if _, err := pglock.Open(patient(t), url, pglock.Options{}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
