package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

func TestOpenMakesTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	s := session(t, dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Fatal(err)
	}
	must(t, s, want("a"))
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, open := range map[string]func() (*Store, error){
		"no directory":          func() (*Store, error) { return Open("", Options{}) },
		"a file":                func() (*Store, error) { return Open(file, Options{}) },
		"a path below a file":   func() (*Store, error) { return Open(filepath.Join(file, "a", "b"), Options{}) },
		"a TTL below 10 ms":     func() (*Store, error) { return Open(dir, Options{TTL: time.Millisecond}) }, // H20
		"a TTL below nothing":   func() (*Store, error) { return Open(dir, Options{TTL: -time.Second}) },
		"a name that cannot be": func() (*Store, error) { return Open("a\x00b", Options{}) },
	} {
		if _, err := open(); err == nil {
			t.Errorf("%s was opened", what)
		} else {
			faulty(t, err, driver.Lasting)
			t.Log(err)
		}
	}
}

func TestInfo(t *testing.T) {
	dir := t.TempDir()
	s, other := session(t, dir), session(t, dir)
	info := s.Info()
	if info.Kind != "directory" || info.Address != "file:"+dir || info.TTL != 30*time.Second || info.FixedTTL {
		t.Fatalf("%+v", info)
	}
	if info.Session == "" || info.Session == other.Info().Session { // H11
		t.Fatal(info.Session)
	}
	if !info.Features.Has(driver.CanShare | driver.CanSlots | driver.CanRemember) {
		t.Fatal(info.Features)
	}
	if got := info.Guarantees.Promises; got != driver.FencingSurvivesCrash|driver.LockSurvivesCrash {
		t.Fatal(got)
	}
}

func TestFileSystems(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x6969: "NFS", 0xff534d42: "SMB/CIFS", 0xfe534d42: "SMB/CIFS", 0x65735546: "FUSE", 0x01021997: "9P", 0x9fa0: "procfs", 0x62656572: "sysfs",
		0xef53: "", 0x58465342: "", 0x9123683e: "", 0x01021994: "", 0x794c7630: "", 0x2fc12fc1: "", // ext4, XFS, Btrfs, tmpfs, overlay, ZFS
	} {
		if got := remote(magic); got != want {
			t.Errorf("%#x is %q, not %q", magic, got, want)
		}
	}
	faulty(t, refuse("/mnt", "NFS"), driver.Lasting)
}

// TestNetworkFileSystemIsRefused by Open, with what would be right, and nothing is left there.
func TestNetworkFileSystemIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := openOn(dir, Options{}, func(string) (string, error) { return "NFS", nil })
	var fault *driver.Fault
	if !errors.As(err, &fault) || fault.Kind != driver.Lasting || !strings.Contains(err.Error(), "NFS") || !strings.Contains(err.Error(), "local") {
		t.Errorf("a directory on NFS: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
