// Package key turns the names of locks into the keys of PostgreSQL's advisory locks.
//
// PostgreSQL has two key spaces, which never meet: one signed 64-bit integer (bigint), or a pair of 32-bit ones. A name
// stands for a bigint: the first eight bytes, big-endian, of SHA-256 over its bytes, read as a signed integer. Any language
// can compute it; on a shell and in psql:
//
//	printf %s report/daily | sha256sum | cut -c 1-16
//	select ('x' || left(encode(sha256(convert_to('report/daily', 'UTF8')), 'hex'), 16))::bit(64)::bigint;
//
// testdata/golden.tsv lists names with their keys. A name in the reserved form stands for the key that it spells:
// "pgkey:1001,42" for a pair, "pgkey:42" for a bigint.
//
// Names may share a key: by a collision of hashes (of 100,000 names one in four billion), or because one of them is in the
// reserved form. They then exclude each other without need, and never fail to exclude.
package key

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// Prefix begins the reserved form.
	Prefix = "pgkey:"
	// MaxName is the longest name in bytes.
	MaxName = 512
)

// Key is the key of one advisory lock. Keys are equal if PostgreSQL's locks are. The zero Key is the bigint 0.
type Key struct {
	pair bool
	bits uint64 // the bigint; of a pair the class above the object
}

// Of gives the key of a name. The error says why no such name can be, and what would be right; the name itself is the
// caller's to say.
func Of(name string) (Key, error) {
	switch {
	case name == "":
		return Key{}, errors.New("a name cannot be empty; give it at least one byte")
	case len(name) > MaxName:
		return Key{}, fmt.Errorf("a name of %d bytes; at most %d are possible", len(name), MaxName)
	case !utf8.ValidString(name):
		return Key{}, errors.New("a name must be valid UTF-8")
	case strings.IndexByte(name, 0) >= 0:
		return Key{}, errors.New("a name cannot have a NUL byte")
	case Reserved(name):
		return parse(name)
	}
	return hash(name), nil
}

// OfBigint gives the key of an existing lock on one integer.
func OfBigint(n int64) Key { return Key{bits: uint64(n)} }

// OfPair gives the key of an existing lock on two integers.
func OfPair(class, object int32) Key {
	return Key{pair: true, bits: uint64(uint32(class))<<32 | uint64(uint32(object))}
}

// Inner gives the key of a lock of Tenure's own, such as the one around a migration. Every call with the same text gives the
// same key. No name has it, other than by a collision of hashes, since what is hashed has a NUL byte.
func Inner(purpose string) Key { return hash("tenure\x00" + purpose) }

// Door gives the key of the lock behind which a group of slots is waited for: an Inner key, one for each key of a group.
func Door(group Key) Key { return Inner("door\x00" + group.String()) }

// FromLock gives the key of a row of pg_locks whose locktype is advisory. Keys are those of the row's database.
func FromLock(classid, objid uint32, objsubid uint16) Key {
	return Key{pair: objsubid == pairs, bits: uint64(classid)<<32 | uint64(objid)}
}

// What pg_locks.objsubid says.
const (
	bigints uint16 = 1
	pairs   uint16 = 2
)

// Lock gives the columns by which pg_locks shows the lock, beside those of its database. A bigint and a pair differ in
// objsubid alone.
func (k Key) Lock() (classid, objid uint32, objsubid uint16) {
	objsubid = bigints
	if k.pair {
		objsubid = pairs
	}
	return uint32(k.bits >> 32), uint32(k.bits), objsubid
}

// Bigint gives the key if it is one integer.
func (k Key) Bigint() (n int64, ok bool) {
	if k.pair {
		return 0, false
	}
	return int64(k.bits), true
}

// Pair gives the key if it is two integers.
func (k Key) Pair() (class, object int32, ok bool) {
	if !k.pair {
		return 0, 0, false
	}
	return int32(k.bits >> 32), int32(k.bits), true
}

// String gives "bigint:-123" or "int4:1001,42", one text for one key.
func (k Key) String() string {
	if k.pair {
		return "int4:" + k.integers()
	}
	return "bigint:" + k.integers()
}

// Name gives the name in the reserved form that stands for the key.
func (k Key) Name() string { return Prefix + k.integers() }

func (k Key) integers() string {
	if class, object, ok := k.Pair(); ok {
		return strconv.Itoa(int(class)) + "," + strconv.Itoa(int(object))
	}
	return strconv.FormatInt(int64(k.bits), 10)
}

// hash wraps around: a hash above the largest int64 is a negative key, of the same bits (H43).
func hash(name string) Key {
	sum := sha256.Sum256([]byte(name))
	return Key{bits: binary.BigEndian.Uint64(sum[:])}
}

// Reserved says whether a name begins with the prefix. In capitals it does too: it would otherwise be an ordinary name, and
// so another lock than the one that it seems to name.
func Reserved(name string) bool {
	return len(name) >= len(Prefix) && strings.EqualFold(name[:len(Prefix)], Prefix)
}

// parse reads the reserved form. There is one way to write a key: what reads back as something else is refused.
func parse(name string) (Key, error) {
	class, object, pair := strings.Cut(name[len(Prefix):], ",")
	var k Key
	var err error
	if pair {
		var c, o int64
		c, err = strconv.ParseInt(class, 10, 32)
		if err == nil {
			o, err = strconv.ParseInt(object, 10, 32)
		}
		k = OfPair(int32(c), int32(o))
	} else {
		var n int64
		n, err = strconv.ParseInt(class, 10, 64)
		k = OfBigint(n)
	}
	if err != nil || k.Name() != name {
		return Key{}, fmt.Errorf("names that begin with %s stand for existing keys: %s42 for a bigint, %s1001,42 for two "+
			"int4, in lower case and in decimal, within the type's range, without spaces, plus signs or leading zeros",
			Prefix, Prefix, Prefix)
	}
	return k, nil
}
