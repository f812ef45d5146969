package filelock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tenurelock/tenure/driver"
)

// recordSize is one block of most file systems: the first write takes the block, and none that follows needs more space,
// so a disk that fills up later does not take locks away. (File systems that copy on write need it all the same.)
//
// The record is never flushed. A crash of a process loses nothing, since the kernel has the page. A power cut ends every
// holder with the record, and the clock then is the floor of the next number. A flush would cost milliseconds a grant.
const recordSize = 4096

// magic opens each lock file; what follows is the format's version.
const (
	magic   = "tenure lock "
	version = "1"
)

// state is what a record says of its lock. It is only half of the truth: whoever dies leaves it behind, so that "held" is
// true only while the file is locked too.
type state string

const (
	free      state = "free"
	exclusive state = "exclusive"
	shared    state = "shared"
)

// record is what a lock file remembers. On disk it is lines of text, for people with nothing but cat.
type record struct {
	number int64 // of the last grant
	writer int64 // of the last exclusive grant: a reader with a higher one was never passed over
	ran    int64 // the last grant with OncePer or Gap, in ns since 1970; 0: never
	state  state
	owner  string // session/acq of the last grant; "-" for a reader that has left others behind
	name   string
	holder []byte // as JSON: a driver.Holder, kept after release to tell who was last
}

// verdict is what the bytes of a file are.
type verdict int

const (
	sound   verdict = iota
	fresh           // empty: nobody was granted yet
	damaged         // ours, but not whole: torn under a reader, or by a power cut
	foreign         // not ours: never written to
	newer           // ours, of a format that this version does not know
)

func owner(session string, acq uint64) string { return session + "/" + strconv.FormatUint(acq, 10) }

const blanks = "                                                                                                "

// encode gives the record's recordSize bytes.
func (r record) encode() []byte {
	buf := make([]byte, 0, recordSize)
	buf = append(buf, magic+version+"\nsum 00000000\n"...)
	body := len(buf)
	buf = r.appendLines(buf)
	for len(buf) < recordSize-1 {
		buf = append(buf, blanks[:min(len(blanks), recordSize-1-len(buf))]...)
	}
	buf = append(buf, '\n')
	copy(buf[body-9:], fmt.Sprintf("%08x", crc32.ChecksumIEEE(buf[body:])))
	return buf
}

func (r record) appendLines(buf []byte) []byte {
	name, _ := json.Marshal(r.name) // a string always has JSON
	return fmt.Appendf(buf, "number %d\nwriter %d\nran %d\nstate %s\nowner %s\nname %s\nholder %s\n",
		r.number, r.writer, r.ran, r.state, r.owner, name, r.holder)
}

// decode reads what a file has in its first recordSize bytes.
func decode(buf []byte) (record, verdict) {
	line, rest, _ := bytes.Cut(buf, []byte("\n"))
	switch {
	case len(buf) == 0:
		return record{state: free}, fresh
	case string(line) == magic+version:
	case bytes.HasPrefix(buf, []byte(magic)) && len(line) > len(magic) && len(line) < len(buf):
		return record{}, newer
	case bytes.HasPrefix([]byte(magic+version+"\n"), buf), len(bytes.Trim(buf, "\x00")) == 0:
		// A power cut can keep the file's length and lose its content.
		return record{state: exclusive}, damaged
	default:
		return record{}, foreign
	}
	if rec, ok := parse(rest); ok && len(buf) == recordSize {
		return rec, sound
	}
	return record{state: exclusive}, damaged
}

func parse(rest []byte) (rec record, ok bool) {
	line, body, _ := bytes.Cut(rest, []byte("\n"))
	if string(line) != fmt.Sprintf("sum %08x", crc32.ChecksumIEEE(body)) {
		return rec, false
	}
	ok = true
	field := func(key string) []byte {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte("\n"))
		value, found := bytes.CutPrefix(line, []byte(key+" "))
		ok = ok && found
		return value
	}
	number := func(key string) int64 {
		n, err := strconv.ParseInt(string(field(key)), 10, 64)
		ok = ok && err == nil
		return n
	}
	rec.number, rec.writer, rec.ran = number("number"), number("writer"), number("ran")
	rec.state, rec.owner = state(field("state")), string(field("owner"))
	ok = json.Unmarshal(field("name"), &rec.name) == nil && ok
	rec.holder = field("holder")
	known := rec.state == free || rec.state == exclusive || rec.state == shared
	return rec, ok && known
}

// describe puts a holder's description into the record. One that is too long loses the ends of its longest parts.
func (r *record) describe(h driver.Holder) {
	r.holder = nil
	room := recordSize - len(magic+version+"\nsum 00000000\n"+"\n") - len(r.appendLines(nil))
	for {
		text, err := json.Marshal(h)
		switch {
		case err != nil: // only a time beyond the year 9999 has no JSON
			h.Since = time.Time{}
			continue
		case len(text) <= room:
			r.holder = text
			return
		}
		longest := &h.Note
		for _, part := range []*string{&h.Program, &h.Host} {
			if len(*part) > len(*longest) {
				longest = part
			}
		}
		if *longest == "" {
			r.holder = []byte("{}")
			return
		}
		*longest = half(*longest)
	}
}

// under gives the record as it counts for a name. In a copied or renamed file the number still is a floor, but when
// another name ran says nothing.
func (r record) under(name string) record {
	if r.name != name {
		r.ran = 0
	}
	return r
}

// half cuts a text in its middle, between two characters.
func half(s string) string {
	cut := len(s) / 2
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// last is the description of the last grant; empty where nothing is known.
func (r record) last() (h driver.Holder) {
	if json.Unmarshal(r.holder, &h) != nil {
		return driver.Holder{}
	}
	return h
}

// next is the number of a grant that follows last.
func next(last int64, now time.Time) int64 { return max(last+1, now.UnixMicro(), 1) }
