package filelock

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	lockSuffix = ".lock"
	doorSuffix = ".door"
	// maxName is what the root package allows too.
	maxName = 512
	// maxStem keeps whole file names within 140 bytes: eCryptfs, under many encrypted homes, allows 143.
	maxStem = 135
	// maxPrefix is how much of a long name stays readable, before "~" and 64 digits of SHA-256.
	maxPrefix = maxStem - 1 - 2*sha256.Size
)

// Key gives the file name of a lock, within the directory. Different names have different keys.
func (s *Store) Key(name string) (string, error) {
	stem, err := stemOf(name)
	if err != nil {
		return "", err
	}
	return stem + lockSuffix, nil
}

// stemOf turns a name into what its files are called, without the suffix. It is one-to-one: an escape can be read back,
// since "%" itself is always escaped, and "~" stands in no stem but those of long names, before a hash of the whole.
func stemOf(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("filelock: an empty name; give it at least one byte")
	case len(name) > maxName:
		return "", fmt.Errorf("filelock: a name of %d bytes; at most %d are possible", len(name), maxName)
	case !utf8.ValidString(name):
		return "", fmt.Errorf("filelock: the name %q is not valid UTF-8", name)
	case strings.IndexByte(name, 0) >= 0:
		return "", fmt.Errorf("filelock: the name %q has a NUL byte, which no name may have", name)
	}
	var stem strings.Builder
	device := isDevice(name)
	for i := range len(name) {
		if c := name[i]; literal(c, i == 0) && !(device && i == 0) {
			stem.WriteByte(c)
		} else {
			stem.WriteByte('%')
			stem.WriteString(hex.EncodeToString([]byte{c}))
		}
	}
	if stem.Len() <= maxStem {
		return stem.String(), nil
	}
	sum := sha256.Sum256([]byte(name))
	return prefix(stem.String()) + "~" + hex.EncodeToString(sum[:]), nil
}

// literal says whether a byte may stand in a file name as it is. Capitals may not, for file systems that do not tell
// them from small letters, nor bytes outside ASCII, which some file systems normalise.
func literal(c byte, first bool) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' && !first
}

// prefix cuts an escaped name without cutting an escape.
func prefix(stem string) string {
	cut := maxPrefix
	for back := 1; back <= 2; back++ {
		if stem[maxPrefix-back] == '%' {
			cut = maxPrefix - back
		}
	}
	return stem[:cut]
}

// isDevice says whether Windows would take the name for a device, whatever follows its first dot. The rule holds on
// every system, so that a name has one key.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(base) == 4 && (base[:3] == "com" || base[:3] == "lpt") && base[3] >= '0' && base[3] <= '9'
}
