package session

import (
	"regexp"
	"testing"
)

// TestH39NoLockInAWhere: a planner runs a WHERE on rows that nobody wants. Whatever locks also numbers, which a standby cannot (H33).
func TestH39NoLockInAWhere(t *testing.T) {
	texts, err := statements()
	if err != nil {
		t.Fatal(err)
	}
	inWhere, tries := regexp.MustCompile(`(?is)\bwhere\b[^)]*pg_(try_)?advisory`), regexp.MustCompile(`pg_(try_)?advisory_lock`)
	numbers := regexp.MustCompile(`(then|else) nextval\(\$[23]::oid::regclass\)`)
	tried := 0
	for name, text := range texts {
		if inWhere.MatchString(text) {
			t.Errorf("%s takes a lock in a WHERE: %s", name, text)
		}
		if !tries.MatchString(text) {
			continue
		}
		if tried++; !numbers.MatchString(text) {
			t.Errorf("%s locks and draws no number", name)
		}
	}
	if tried != 9 {
		t.Errorf("%d statements lock; lock, lock_many, lock_plain, lock_again, lock_slot and the four that wait do", tried)
	}
}
