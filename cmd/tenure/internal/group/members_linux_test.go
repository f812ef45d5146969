package group

import "testing"

func TestStatLines(t *testing.T) {
	const rest = " 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 12345 4096 100"
	for line, want := range map[string]bool{
		"42 (sh) S 1 77" + " 42" + rest:                     true,
		"42 (sh) R 1 77" + " 42" + rest:                     true,
		"42 (sh) T 1 77" + " 42" + rest:                     true,
		"42 (sh) S 1 78" + " 42" + rest:                     false,
		"42 (sh) Z 1 77" + " 42" + rest:                     false,
		"42 (sh) X 1 77" + " 42" + rest:                     false,
		"42 (a) Z 1 77 (b) S 1 77" + " 42" + rest:           true,
		"42 (a b) R 1 77) S 1 78" + " 42" + rest:            false,
		"42 (sh) Z 1 77 42 0 -1 0 1 0 0 0 1 2 0 0 20 0 2 0": true, // its first thread has ended
		"":       false,
		"42 (sh": false,
	} {
		if _, got := judge([]byte(line), 77); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
