package filelock

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestNamesGolden pins file names: a change would let two versions hold one name.
func TestNamesGolden(t *testing.T) {
	for name, want := range map[string]string{
		"report":           "report.lock",
		"report/daily":     "report%2fdaily.lock",
		"report/Daily":     "report%2f%44aily.lock",
		"a.b-c_9":          "a.b-c_9.lock",
		".":                "%2e.lock",
		"..":               "%2e..lock",
		"../../etc":        "%2e.%2f..%2fetc.lock",
		".hidden":          "%2ehidden.lock",
		"a.lock":           "a.lock.lock",
		"a.door":           "a.door.lock",
		"100%":             "100%25.lock",
		"~":                "%7e.lock",
		"\\":               "%5c.lock",
		"ü":                "%c3%bc.lock",
		"u\u0308":          "u%cc%88.lock",
		" ":                "%20.lock",
		"con":              "%63on.lock",
		"con.txt":          "%63on.txt.lock",
		"CON":              "%43%4f%4e.lock",
		"com1":             "%63om1.lock",
		"lpt9.a.b":         "%6cpt9.a.b.lock",
		"console":          "console.lock",
		"com":              "com.lock",
		"account{7}:q":     "account%7b7%7d%3aq.lock",
		longName('a', 135): longName('a', 135) + ".lock",
		longName('a', 136): longName('a', 70) + "~6f0e44b9ce4ea61d52a3479c10f60ef916937f799f11964b7f1c7771063905c4.lock",
		longName('/', 512): strings.Repeat("%2f", 23) + "~8be9dd9aa2ce4f6ca129ec12a928e715e8ab94ee6f5ee992d8a141f185f95808.lock",
	} {
		got, err := stemOf(name)
		if err != nil {
			t.Fatal(err)
		}
		if got+lockSuffix != want {
			t.Errorf("%q is in %q, not %q", name, got+lockSuffix, want)
		}
	}
}

func longName(c byte, n int) string { return strings.Repeat(string(c), n) }

func TestNamesThatCannotBe(t *testing.T) {
	s := session(t, t.TempDir())
	for _, name := range []string{"", "a\x00b", "\xff", longName('a', 513)} {
		if key, err := s.Key(name); err == nil {
			t.Errorf("%q has the key %q", name, key)
		}
		if _, err := s.Acquire(t.Context(), want(name)); err == nil {
			t.Errorf("%q was granted", name)
		} else {
			faulty(t, err, 2)
		}
		if _, err := s.Inspect(t.Context(), name); err == nil {
			t.Errorf("%q was inspected", name)
		}
	}
}

var plain = regexp.MustCompile(`^[a-z0-9_%-][a-z0-9_.%-]*(~[0-9a-f]{64})?\.lock$`)

// FuzzNames: no name escapes the directory, none shares a file with another, on no file system (H15, H43).
func FuzzNames(f *testing.F) {
	for _, pair := range [][2]string{
		{"a", "A"},
		{"..", "%2e."},
		{"a/b", "a%2fb"},
		{"con", "%63on"},
		{"worker-1", "worker-12"},
		{"ü", "u\u0308"},
		{longName('a', 300), longName('a', 301)},
		{"a", "a.lock"},
		{"a{}b", "a}b"},
		{longName('%', 60), longName('%', 61)},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		first, err1 := stemOf(one)
		second, err2 := stemOf(two)
		for name, err := range map[string]error{one: err1, two: err2} {
			valid := name != "" && len(name) <= maxName && utf8.ValidString(name) && !strings.Contains(name, "\x00")
			if valid != (err == nil) {
				t.Fatalf("%q: %v", name, err)
			}
		}
		if err1 != nil || err2 != nil {
			return
		}
		for _, stem := range []string{first, second} {
			if file := stem + lockSuffix; !plain.MatchString(file) || len(file) > 140 || filepath.Base(file) != file {
				t.Fatalf("not a plain file name: %q", file)
			}
		}
		if (one == two) != strings.EqualFold(first, second) {
			t.Fatalf("%q and %q are in %q and %q", one, two, first, second)
		}
		if strings.EqualFold(first+lockSuffix, second+doorSuffix) {
			t.Fatalf("the lock of %q is the door of %q", one, two)
		}
	})
}
