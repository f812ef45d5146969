package key

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// golden gives the names of testdata/golden.tsv with their keys. The file was written by Python's hashlib.
func golden(t testing.TB) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.tsv")
	if err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]int64)
	for line := range strings.Lines(string(text)) {
		number, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil {
			t.Fatalf("the line %q: %v", line, err)
		}
		keys[name] = n
	}
	return keys
}

// TestH43KeysArePinned: another release, language or machine computes the same keys.
func TestH43KeysArePinned(t *testing.T) {
	var below, above int
	for name, want := range golden(t) {
		k, err := Of(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if n, ok := k.Bigint(); !ok || n != want {
			t.Errorf("the key of %q is %s, want bigint:%d", name, k, want)
		}
		if want < 0 {
			below++
		} else {
			above++
		}
	}
	if below < 5 || above < 5 {
		t.Errorf("%d keys below zero and %d above: the wrap is not tested", below, above)
	}
}

// TestH43HighHashesWrap to negative keys of the same bits, as bit(64)::bigint does.
func TestH43HighHashesWrap(t *testing.T) {
	for bits, want := range map[uint64]int64{
		0: 0, 1: 1, 1<<63 - 1: math.MaxInt64, 1 << 63: math.MinInt64, 1<<63 + 1: math.MinInt64 + 1, math.MaxUint64: -1,
	} {
		k := FromLock(uint32(bits>>32), uint32(bits), 1)
		if n, ok := k.Bigint(); !ok || n != want || k != OfBigint(want) {
			t.Errorf("%x is the key %s, want %d", bits, k, want)
		}
	}
}

// TestH37ColumnsOfPgLocks lead to the key and back, and tell a pair from a bigint.
func TestH37ColumnsOfPgLocks(t *testing.T) {
	for _, c := range []struct {
		key              Key
		classid, objid   uint32
		objsubid         uint16
		text, name, twin string
	}{
		{OfBigint(1), 0, 1, 1, "bigint:1", "pgkey:1", "pgkey:0,1"},
		{OfPair(0, 1), 0, 1, 2, "int4:0,1", "pgkey:0,1", "pgkey:1"},
		{OfBigint(0), 0, 0, 1, "bigint:0", "pgkey:0", "pgkey:0,0"},
		{OfBigint(-1), math.MaxUint32, math.MaxUint32, 1, "bigint:-1", "pgkey:-1", "pgkey:-1,-1"},
		{OfPair(-1, -1), math.MaxUint32, math.MaxUint32, 2, "int4:-1,-1", "pgkey:-1,-1", "pgkey:-1"},
		{OfPair(-1, 1), math.MaxUint32, 1, 2, "int4:-1,1", "pgkey:-1,1", "pgkey:-4294967295"},
		{OfPair(1, -1), 1, math.MaxUint32, 2, "int4:1,-1", "pgkey:1,-1", "pgkey:8589934591"},
		{OfBigint(math.MinInt64), 1 << 31, 0, 1, "bigint:-9223372036854775808", "pgkey:-9223372036854775808", "pgkey:-2147483648,0"},
		{OfBigint(math.MaxInt64), math.MaxInt32, math.MaxUint32, 1, "bigint:9223372036854775807", "pgkey:9223372036854775807", "pgkey:2147483647,-1"},
		{OfPair(math.MinInt32, math.MaxInt32), 1 << 31, math.MaxInt32, 2, "int4:-2147483648,2147483647", "pgkey:-2147483648,2147483647", "pgkey:-9223372034707292161"},
	} {
		classid, objid, objsubid := c.key.Lock()
		if classid != c.classid || objid != c.objid || objsubid != c.objsubid {
			t.Errorf("%s is in pg_locks as %d, %d, %d, want %d, %d, %d", c.text, classid, objid, objsubid, c.classid, c.objid, c.objsubid)
		}
		if back := FromLock(c.classid, c.objid, c.objsubid); back != c.key || back.String() != c.text || back.Name() != c.name {
			t.Errorf("%d, %d, %d is read as %s, want %s", c.classid, c.objid, c.objsubid, back, c.text)
		}
		if k, err := Of(c.name); err != nil || k != c.key {
			t.Errorf("the name %s stands for %s (%v), want %s", c.name, k, err, c.text)
		}
		if twin, err := Of(c.twin); err != nil || twin == c.key || twin.String() == c.text || twin.bits != c.key.bits {
			t.Errorf("%s and %s are one key, %s (%v): they differ in their form alone", c.name, c.twin, twin, err)
		}
	}
}

// TestKeysAreOfOneForm.
func TestKeysAreOfOneForm(t *testing.T) {
	if class, object, ok := OfPair(1001, -42).Pair(); !ok || class != 1001 || object != -42 {
		t.Errorf("(1001, -42) gives (%d, %d), %v", class, object, ok)
	}
	if n, ok := OfPair(0, 1).Bigint(); ok || n != 0 {
		t.Errorf("a pair gives the bigint %d", n)
	}
	if class, object, ok := OfBigint(1).Pair(); ok || class != 0 || object != 0 {
		t.Errorf("a bigint gives the pair (%d, %d)", class, object)
	}
	if k := (Key{}); k != OfBigint(0) {
		t.Errorf("the zero key is %s", k)
	}
}

// TestTwinsAreOneKey: a name, and the reserved form of what it hashes to.
func TestTwinsAreOneKey(t *testing.T) {
	for name := range golden(t) {
		k, err := Of(name)
		if err != nil {
			t.Fatal(err)
		}
		twin, err := Of(k.Name())
		if err != nil || twin != k || twin.String() != k.String() {
			t.Errorf("%q is %s, and %s is %s (%v)", name, k, k.Name(), twin, err)
		}
	}
}

// TestNamesThatCannotBe are refused, with what would be right.
func TestNamesThatCannotBe(t *testing.T) {
	for name, says := range map[string]string{
		"":                           "at least one byte",
		strings.Repeat("x", 513):     "at most 512",
		"a\xff":                      "UTF-8",
		"a\x00b":                     "NUL",
		"pgkey:":                     "pgkey:1001,42",
		"pgkey:x":                    "pgkey:42 for a bigint",
		"pgkey:backup":               "pgkey:42",
		"pgkey:+1":                   "plus signs",
		"pgkey:01":                   "leading zeros",
		"pgkey:-0":                   "leading zeros",
		"pgkey:00":                   "leading zeros",
		"pgkey: 1":                   "spaces",
		"pgkey:1 ":                   "spaces",
		"pgkey:1\n":                  "spaces",
		"pgkey:1_000":                "decimal",
		"pgkey:0x10":                 "decimal",
		"pgkey:1.0":                  "decimal",
		"pgkey:१":                    "decimal",
		"pgkey:9223372036854775808":  "range",
		"pgkey:-9223372036854775809": "range",
		"pgkey:18446744073709551615": "range",
		"pgkey:2147483648,0":         "range",
		"pgkey:0,2147483648":         "range",
		"pgkey:-2147483649,0":        "range",
		"pgkey:0,-2147483649":        "range",
		"pgkey:1001, 42":             "spaces",
		"pgkey:1001,":                "pgkey:1001,42",
		"pgkey:,42":                  "pgkey:1001,42",
		"pgkey:,":                    "pgkey:1001,42",
		"pgkey:1,2,3":                "pgkey:1001,42",
		"pgkey:1001,042":             "leading zeros",
		"pgkey:1001,+42":             "plus signs",
		"pgkey:01001,42":             "leading zeros",
		"pgkey:1001,42#1":            "pgkey:1001,42",
		"PGKEY:1001,42":              "lower case",
		"pgKey:42":                   "lower case",
		"pgkey:" + "1" + strings.Repeat("0", 400): "range",
	} {
		k, err := Of(name)
		if err == nil {
			t.Errorf("%q is taken, as %s", name, k)
		} else if !strings.Contains(err.Error(), says) || k != (Key{}) {
			t.Errorf("%q is refused with %q, which does not say %q", name, err, says)
		}
	}
}

// TestNamesBesideTheReservedOnes are hashed like any other.
func TestNamesBesideTheReservedOnes(t *testing.T) {
	for _, name := range []string{"pgkey", "pgkey1", " pgkey:1", "a/pgkey:1", "pgke:", "pgkey;1", "\u212apgkey:1", "pg\u212aey:1"} {
		if k, err := Of(name); err != nil || k != hash(name) {
			t.Errorf("%q: %s, %v", name, k, err)
		}
	}
}

// TestInnerKeysAreTheirOwn: no name and no other purpose has them, and they stay what they are.
func TestInnerKeysAreTheirOwn(t *testing.T) {
	pool, _ := Of("pool")
	inner := map[Key]string{}
	for says, k := range map[string]Key{
		"the name":                 pool,
		"its door":                 Door(pool),
		"the door of its door":     Door(Door(pool)),
		"the door of bigint 1":     Door(OfBigint(1)),
		"the door of the pair 0 1": Door(OfPair(0, 1)),
		"the migration":            Inner("migration"),
		"what is called door":      Inner("door"),
	} {
		if other, taken := inner[k]; taken {
			t.Errorf("%s and %s are one key, %s", says, other, k)
		}
		inner[k] = says
	}
	// Processes of different releases must wait behind one door. Python: int.from_bytes(sha256(…).digest()[:8], "big", signed=True)
	if got := Door(pool); got != OfBigint(9039758165821384367) {
		t.Errorf("the door of pool is %s", got)
	}
	if got := Inner("migration"); got != OfBigint(-4672697400913202697) {
		t.Errorf("the migration's key is %s", got)
	}
}

// FuzzOf: whatever is taken has one key, which can be written, found in pg_locks, and read back.
func FuzzOf(f *testing.F) {
	for _, seed := range []string{
		"report/daily", "pgkey:42", "pgkey:-42", "pgkey:1001,42", "pgkey:-1,-1", "pgkey:+1", "pgkey:01", "PGKEY:1", "pgkey:1,2,3", "pgkey:9223372036854775807", "a\x00", "\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		k, err := Of(name)
		if err != nil {
			return
		}
		if strings.HasPrefix(name, Prefix) != (k.Name() == name) {
			t.Errorf("%q is %s, whose name is %s", name, k, k.Name())
		}
		if back, err := Of(k.Name()); err != nil || back != k {
			t.Errorf("%q is %s, and its reserved form %s is %s (%v)", name, k, k.Name(), back, err)
		}
		if back := FromLock(k.Lock()); back != k || back.String() != k.String() {
			t.Errorf("%q is %s, and read from pg_locks %s", name, k, back)
		}
		n, isBigint := k.Bigint()
		class, object, isPair := k.Pair()
		if isBigint == isPair || isBigint && OfBigint(n) != k || isPair && OfPair(class, object) != k {
			t.Errorf("%q is %s: a bigint is %v, a pair %v", name, k, isBigint, isPair)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Of("report/daily/2026-05-04"); err != nil {
			b.Fatal(err)
		}
	}
}
