package open

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWhereTheDefaultIs(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // the separators of the table are another system's
	}
	for _, c := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"XDG_STATE_HOME": "/state", "HOME": "/home/u"}, "/state/tenure/locks"},
		{"linux", map[string]string{"XDG_STATE_HOME": "relative", "HOME": "/home/u"}, "/home/u/.local/state/tenure/locks"},
		{"freebsd", map[string]string{"HOME": "/home/u"}, "/home/u/.local/state/tenure/locks"},
		{"linux", nil, ""},
		{"darwin", map[string]string{"HOME": "/Users/u", "XDG_STATE_HOME": "/state"}, "/Users/u/Library/Application Support/tenure/locks"},
		{"darwin", nil, ""},
		{"windows", map[string]string{"LocalAppData": "/appdata"}, "/appdata/tenure/locks"},
		{"windows", map[string]string{"HOME": "/home/u"}, ""},
	} {
		got, err := stateDir(c.goos, func(name string) string { return c.env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s with %v: %q, %v; want %q", c.goos, c.env, got, err, c.want)
		}
	}
}

func TestDefault(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "LocalAppData"} {
		t.Setenv(name, home)
	}
	t.Setenv("XDG_STATE_HOME", "")
	store, err := Default(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, store)
	dir, err := DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	if rel, err := filepath.Rel(home, dir); err != nil || !filepath.IsLocal(rel) {
		t.Errorf("%s is not below %s", dir, home)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
