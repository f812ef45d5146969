package proof

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what the checks say of the bad histories into their golden files")

var checks = []struct {
	name  string
	check func(History) error
}{
	{"tokens", CheckTokens},
	{"tokens", func(h History) error { return LinearizeTokens(h, time.Minute) }},
	{"overlap", CheckOverlap},
	{"ends", CheckEnds},
	{"guards", CheckGuards},
	{"register", func(h History) error { return LinearizeRegisters(h, time.Minute) }},
}

func scenarios(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios in %s: %v", dir, err)
	}
	return paths
}

func read(t *testing.T, path string) (History, string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return h, string(text)
}

func TestGoodHistories(t *testing.T) {
	for _, path := range scenarios(t, "good") {
		h, _ := read(t, path)
		for _, c := range checks {
			if err := c.check(h); err != nil {
				t.Errorf("%s, %s: %v", path, c.name, err)
			}
		}
		if err := Check(h); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestBadHistories finds in each just what its first line names, and says it as its golden file has it.
func TestBadHistories(t *testing.T) {
	for _, path := range scenarios(t, "bad") {
		h, text := read(t, path)
		first, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		wanted := make(map[string]bool)
		for _, name := range strings.Fields(first) {
			wanted[name] = true
		}
		var said strings.Builder
		for _, c := range checks {
			err := c.check(h)
			if (err != nil) != wanted[c.name] {
				t.Errorf("%s: the check of %s says %v", path, c.name, err)
			}
			if err != nil {
				said.WriteString(c.name + ": " + err.Error() + "\n")
			}
		}
		if Check(h) == nil {
			t.Errorf("%s passes all checks together", path)
		}
		golden := strings.TrimSuffix(path, "txt") + "golden"
		if *update {
			if err := os.WriteFile(golden, []byte(said.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if said.String() != string(want) {
			t.Errorf("%s: the checks said\n%sand the golden file has\n%s", path, said.String(), want)
		}
	}
}

func TestPunctual(t *testing.T) {
	h, err := Parse(strings.NewReader(`
0   10  a.1 acquire stock exclusive = ok 256 until 500
510 510 w.1 lost stock 256 = ok
`))
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckPunctual(h, 10); err != nil {
		t.Errorf("a loss told within the slack: %v", err)
	}
	if err := CheckPunctual(h, 9); err == nil {
		t.Error("a loss was told too late, and passed")
	}
	h, err = Parse(strings.NewReader(`
0   10  a.1 acquire stock exclusive = ok 256 until 500
490 512 a.2 release stock 256 = lost
511 511 w.1 lost stock 256 = ok
`))
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckPunctual(h, 0); err != nil {
		t.Errorf("a loss that was the answer to a release: %v", err)
	}
}

// TestBrokenStore excuses what a store that forgets holders causes, and nothing else.
func TestBrokenStore(t *testing.T) {
	for path, passes := range map[string]bool{
		"testdata/bad/fall.txt": true, "testdata/bad/overlap.txt": true,
		"testdata/bad/repeat.txt": false, "testdata/bad/stale-accepted.txt": false,
		"testdata/bad/lost-write.txt": false, "testdata/bad/silent-loss.txt": false,
	} {
		h, _ := read(t, path)
		if err := CheckBroken(h); (err == nil) != passes {
			t.Errorf("%s: %v", path, err)
		}
	}
}
