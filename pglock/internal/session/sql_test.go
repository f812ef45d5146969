package session

import (
	"regexp"
	"testing"
)

// TestH39NoLockInAWhere: a planner runs a WHERE on rows that nobody wants. All that try and number read the numbering, which a
// standby cannot (H33).
func TestH39NoLockInAWhere(t *testing.T) {
	texts, err := statements()
	if err != nil {
		t.Fatal(err)
	}
	inWhere, tries := regexp.MustCompile(`(?is)\bwhere\b[^)]*pg_(try_)?advisory`), regexp.MustCompile(`pg_try_advisory`)
	numbers := regexp.MustCompile(`nextval\('tenure\.grants'\)`)
	tried := 0
	for name, text := range texts {
		if inWhere.MatchString(text) {
			t.Errorf("%s takes a lock in a WHERE: %s", name, text)
		}
		if !tries.MatchString(text) {
			continue
		}
		if tried++; !numbers.MatchString(text) {
			t.Errorf("%s tries a lock and draws no number", name)
		}
	}
	if tried != 4 {
		t.Errorf("%d statements try locks; lock, lock_many, lock_again and lock_slot do", tried)
	}
}
