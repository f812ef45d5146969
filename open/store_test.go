package open

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

func TestURLsOfDirectories(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	for address, want := range map[string]string{
		"file://" + work + "/a":            "a",
		"file:" + work + "/b":              "b",
		"FILE://localhost" + work + "/c":   "c",
		"file:d":                           "d",
		"file:./e/deep":                    "e/deep",
		"file://" + work + "/with%20gap":   "with gap",
		"file:rel%23sharp":                 "rel#sharp",
		work + "/plain%20":                 "plain%20",
		"./f":                              "f",
		"../" + filepath.Base(work) + "/g": "g",
	} {
		store, err := Store(t.Context(), address, Options{TTL: 7 * time.Second})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if info := store.Info(); info.Kind != "directory" || info.TTL != 7*time.Second {
			t.Errorf("%s: opened %s with a TTL of %v", address, info.Kind, info.TTL)
		}
		if at, err := os.Stat(filepath.Join(work, want)); err != nil || !at.IsDir() {
			t.Errorf("%s: no directory %s: %v", address, want, err)
		}
		closeStore(t, store)
	}
}

func TestMemory(t *testing.T) {
	for _, address := range []string{"memory:", "memory://", "Memory:"} {
		store, err := Store(t.Context(), address, Options{})
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		if kind := store.Info().Kind; kind != "memory" {
			t.Errorf("%s opened a store of kind %q", address, kind)
		}
		closeStore(t, store)
	}
}

// Whatever is wrong, the error says what would be right, and repeats no password.
func TestWrongURLs(t *testing.T) {
	t.Chdir(t.TempDir())

	for address, want := range map[string]string{
		"":                                                   "empty",
		secret:                                               "no scheme",
		secret + "/locks":                                    "no scheme",
		"1x:" + secret:                                       "no scheme",
		"postgres:" + secret:                                 "begins with postgres://",
		"postgresql:u:" + secret + "@h/db":                   "begins with postgres://",
		"postgres://u:a/" + secret + "@h/db":                 "in a password / @",
		"postgres://u:a/b?" + secret + "@h/db":               "in a password / @",
		"postgres://u:a@" + secret + "@h/db":                 "there is an @ in the host",
		"postgres://u:" + secret + "%zz@h/db":                "percent",
		"postgres://h:" + secret + "/db":                     "invalid port",
		"postgres://u:" + secret + "@h/db?sslmode=no":        "sslmode is invalid",
		"postgres://u:" + secret + "@h/db?tenure_mode=row":   "sessions or rows is right",
		"Postgres://u:" + secret + "@h/db?tenure_pooler=yes": "session is right",
		"postgres://u:" + secret + "@h/db?tenure_ttl=1s":     "tenure_ttl is no setting",
		"redis:" + secret:                                    "begins with redis://",
		"redis://:" + secret + "@h/x":                        "database number",
		"redis://:" + secret + "%zz@h":                       "cannot be read",
		"redis://u:" + secret + "@a,b":                       "redis+sentinel",
		"redis+sentinel://u:" + secret + "@a,b":              "names the primary",
		"redis+cluster://u:" + secret + "@a,b/1":             "database 0 only",
		"redis://u:" + secret + "@h?tenure_grace=x":          "5s is right",
		"redis://u:" + secret + "@h?tenure_x=x":              "tenure_grace and tenure_prefix",
		"redis://u:" + secret + "@":                          "empty host",
		"redlock://u:" + secret + "@a,b,c":                   "quorum",
		"etcd://u:" + secret + "@h":                          "etcd",
		"mysql://u:" + secret + "@h":                         `"mysql"`,
		"memory:" + secret:                                   "nothing follows",
		"file:":                                              "names a directory",
		"file://":                                            "names a directory",
		"file://localhost":                                   "names a directory",
		"file://localhost/":                                  "names a directory",
		"file://relative/" + secret:                          "no host",
		"file://u:" + secret + "@/x":                         "neither user nor password",
		"file:///x?" + secret:                                "no query",
		"file:x?" + secret:                                   "no query",
		"file:///x#" + secret:                                "no fragment",
		"file:///x#":                                         "no fragment",
		"file:///%zz" + secret:                               "hexadecimal",
		"file:%zz" + secret:                                  "hexadecimal",
		"file:///x%00" + secret:                              "NUL",
		"file:///\x7f" + secret:                              "control characters",
	} {
		store, err := Store(t.Context(), address, Options{})
		switch {
		case err == nil:
			t.Errorf("%q was opened", address)
			closeStore(t, store)
		case !errors.Is(err, ErrURL), !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v: want ErrURL and %q", address, err, want)
		case strings.Contains(err.Error(), secret):
			t.Errorf("%q: the error repeats the password: %v", address, err)
		}
	}
	if made, _ := os.ReadDir("."); len(made) > 0 {
		t.Errorf("a wrong URL made %v", made)
	}
}

func TestAStoresOwnErrorIsNotTheURLs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Store(t.Context(), file, Options{}); err == nil || errors.Is(err, ErrURL) {
		t.Errorf("a file in the directory's place: %v", err)
	}
}

func closeStore(t *testing.T, store driver.Store) {
	t.Helper()
	if err := store.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
