package rows

import (
	"strings"
	"testing"
)

// TestAdvisoryKeysAreRefused: a lease row excludes nobody who takes the advisory lock.
func TestAdvisoryKeysAreRefused(t *testing.T) {
	for _, name := range []string{"pgkey:42", "pgkey:1001,42", "PGKEY:42"} {
		if key, err := NameKey(name); err == nil || !strings.Contains(err.Error(), "session locks") {
			t.Errorf("%q has the key %q, error %v", name, key, err)
		}
	}
}
