package locktest

import (
	"fmt"
	"strings"
)

var nameRules = []Rule{
	{Name: "names/any", Says: "Any valid name works, and two names exclude each other only if they have one key.", check: checkAnyName},
	{Name: "names/many", Says: "One session holds hundreds of names at once, and loses none for being many.", check: checkManyNames},
}

// oddNames are valid names that stores have stumbled over: as paths, patterns, keys, hash tags, or by being trimmed,
// folded, normalised or cut.
var oddNames = []string{
	"plain", "Plain", "PLAIN", "plain ", " plain", "plain\n", "plain\t", "plain.", "plain/", "/plain", "//plain",
	".", "..", "../x", "a/../b", "a/b", "a\\b", "a:b", "a%2fb", "%", "%%", "~", "-", "--help", "con", "nul.txt",
	"*", "?", "[a]", "{a}b", "a}b", "a{}b", "{}x", "{x}:queue", "x:fence", "'; drop table x; --", "\"", "$1", "`id`",
	"a.lock", "a", "a.door", "x#1", "x", "ä", "a\u0308", "Ä", "ß", "ss", "日本語", "🔒", "\u202e", "\ufeffplain", "\x01", "\x7f",
	strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("é", 128), strings.Repeat("/", 300),
}

func checkAnyName(t *trial) {
	a, b := t.open(), t.open()
	names := make([]string, 0, len(oddNames)+2)
	for _, odd := range oddNames {
		if name := t.prefix + odd; len(name) <= 512 {
			names = append(names, name)
		}
		if name := odd + t.prefix; len(name) <= 512 {
			names = append(names, name)
		}
	}
	full := t.prefix + strings.Repeat("z", 511-len(t.prefix))
	names = append(names, full+"a", full+"b") // they differ in their last byte of 512

	byKey := make(map[string]string)
	var held []*claim
	for _, name := range names {
		key, err := a.Key(name)
		t.no(err, "the key of the valid name %q", name)
		if twin, same := byKey[key]; same {
			t.failf("%q and %q have one key, %q: only a hash that collides by chance may do that", twin, name, key)
		}
		byKey[key] = name
		again, err := b.Key(name)
		t.want(err == nil && again == key, "two sessions give %q the keys %q and %q (%v)", name, key, again, err)
		c := a.try(name)
		t.no(c.err, "acquire %q, which is free (beside other names)", name)
		held = append(held, c)
	}
	for _, c := range held {
		b.refused(c.name)
		c.releases()
	}
}

func checkManyNames(t *trial) {
	const many = 300
	a, b := t.open(), t.open()
	var held []*claim
	for i := range many {
		held = append(held, a.take(t.name(fmt.Sprint(i))))
	}
	for _, c := range held {
		b.refused(c.name)
		c.renews()
		c.releases()
	}
}
