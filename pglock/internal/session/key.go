package session

import (
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/key"
)

// keys remembers the keys of names that were asked for lately.
type keys struct {
	seed maphash.Seed
	kept [1024][2]atomic.Pointer[known] // the newer first
}

// known is a name with its key, as key.Key.String writes it.
type known struct{ name, key string }

func (k *keys) of(name string) (string, error) {
	kept := &k.kept[maphash.String(k.seed, name)%uint64(len(k.kept))]
	for i := range kept {
		if n := kept[i].Load(); n != nil && n.name == name {
			return n.key, nil
		}
	}
	found, err := key.Of(name)
	if err != nil {
		return "", fmt.Errorf("pglock: %w", err)
	}
	n := &known{strings.Clone(name), found.String()}
	kept[1].Store(kept[0].Swap(n))
	return n.key, nil
}

// lock is an advisory lock as the statements take it.
type lock struct {
	bits int64 // the bigint, or both integers in one
	form int64 // 0 bigint, 1 the same shared, 2 two integers, 3 the same shared
}

const (
	sharing = 1
	pair    = 2
	again   = 4 // in a statement only: shared, by a session that has it so already
)

// lockOf reads a store's key, as key.Key.String wrote it.
func lockOf(text string, mode driver.Mode) (lock, error) {
	var l lock
	if mode == driver.Shared {
		l.form = sharing
	}
	if digits, ok := strings.CutPrefix(text, "bigint:"); ok {
		bits, err := strconv.ParseInt(digits, 10, 64)
		l.bits = bits
		return l, err
	}
	digits, ok := strings.CutPrefix(text, "int4:")
	class, object, both := strings.Cut(digits, ",")
	if !ok || !both {
		return l, fmt.Errorf("%q is no key of this store's", text)
	}
	c, err := strconv.ParseInt(class, 10, 32)
	if err != nil {
		return l, err
	}
	o, err := strconv.ParseInt(object, 10, 32)
	l.bits, l.form = c<<32|int64(uint32(o)), l.form|pair
	return l, err
}

// key gives it as the key that it is.
func (l lock) key() key.Key {
	if l.form&pair != 0 {
		return key.OfPair(int32(l.bits>>32), int32(l.bits))
	}
	return key.OfBigint(l.bits)
}

// shown gives the columns by which pg_locks shows it.
func (l lock) shown() (class, object, form int64) {
	c, o, f := l.key().Lock()
	return int64(c), int64(o), int64(f)
}
