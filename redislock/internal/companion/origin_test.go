package companion

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// origin undoes Of, by nothing but the key: no two locks can share what can be undone.
func origin(key string) (lock string, kind Kind, ok bool) {
	at := strings.LastIndexByte(key, ':') + 1
	front, kind := key[:at], Kind(key[at:])
	if lock, ok = strings.CutSuffix(front, tagged); ok {
		return lock, kind, true
	}
	if lock, ok = strings.CutSuffix(front, "}"+wrapped); ok {
		lock, ok = strings.CutPrefix(lock, "{")
		return lock, kind, ok
	}
	if lock, ok = strings.CutSuffix(front, borrowed); ok {
		_, lock, ok = strings.Cut(lock, "}")
		return lock, kind, ok
	}
	return "", "", false
}

// bits is the checksum as its definition has it, a bit at a time.
func bits(key string) (sum uint16) {
	for i := range len(key) {
		sum ^= uint16(key[i]) << 8
		for range 8 {
			carry := sum >> 15
			sum = sum<<1 ^ carry*0x1021
		}
	}
	return sum
}

// FuzzOf: of whatever name, even one that Check refuses, each companion is in the name's slot, tells the name and its kind, and
// cannot be a lock.
func FuzzOf(f *testing.F) {
	for _, name := range nasty {
		f.Add(name)
		for _, form := range []string{tagged, wrapped, borrowed} {
			f.Add(name + form + string(Queue))
			f.Add("{" + name + "}" + form + string(State))
		}
		f.Add(Of(name, Queue))
		f.Add(Of(Of(name, SlotQueue), State))
	}
	f.Add("")
	f.Add(session + "0")
	f.Add(strings.Repeat("}", longest+1))
	f.Fuzz(func(t *testing.T, name string) {
		if checksum(name) != bits(name) {
			t.Errorf("the checksum of %q is %#x instead of %#x", name, checksum(name), bits(name))
		}
		for _, kind := range kinds {
			key := Of(name, kind)
			if Slot(key) != Slot(name) {
				t.Errorf("%q in slot %d has a companion %q in slot %d", name, Slot(name), key, Slot(key))
			}
			if lock, of, ok := origin(key); !ok || lock != name || of != kind {
				t.Errorf("%q, the %s of %q, could be the %s of %q (%v)", key, kind, name, of, lock, ok)
			}
			if Check(key) == nil {
				t.Errorf("%q, a companion of %q, could be a lock", key, name)
			}
			if Check(name) == nil && strings.HasPrefix(key, session) {
				t.Errorf("%q, a companion of %q, could be the mark of a session", key, name)
			}
		}
	})
}

// TestKindsAreReserved: Check knows each kind that there is, and none has a colon, which is what makes companions tell their kind.
func TestKindsAreReserved(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "companion.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Kind
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Kind" {
			for _, value := range spec.Values {
				text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, Kind(text))
			}
		}
		return false
	})
	if !slices.Equal(declared, kinds) {
		t.Errorf("declared are %q; reserved are %q", declared, kinds)
	}
	for i, kind := range kinds {
		if kind == "" || strings.Contains(string(kind), ":") || slices.Contains(kinds[:i], kind) {
			t.Errorf("%q cannot be a kind", kind)
		}
	}
}
