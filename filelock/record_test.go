package filelock

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/driver"
)

func TestRecordComesBackWhole(t *testing.T) {
	wild := strings.Repeat("\x01<é", 128)
	for _, name := range []string{"a", "a\nholder {}", wild, strings.Repeat("\x02", 512)} {
		for _, note := range []string{"", "nightly", strings.Repeat("ü", 5000), strings.Repeat("\x03", 5000)} {
			rec := record{number: driver.MaxNumber, writer: 1<<53 + 1, ran: 1<<62 + 1, state: exclusive, name: name}
			rec.owner = owner(driver.NewSession(), 1<<63)
			rec.describe(driver.Holder{
				Host: note, Program: note, Note: note, Session: driver.NewSession(), Acq: 1 << 63, PID: 1 << 30,
				Number: driver.MaxNumber, Since: time.Now(),
			})
			buf := rec.encode()
			if len(buf) != recordSize {
				t.Fatalf("%d bytes", len(buf))
			}
			got, what := decode(buf)
			if what != sound || got.number != rec.number || got.writer != rec.writer || got.ran != rec.ran ||
				got.owner != rec.owner || got.name != rec.name || got.state != rec.state {
				t.Fatalf("verdict %d: %+v became %+v", what, rec, got)
			}
			h := got.last()
			if h.Acq != 1<<63 || h.Number != driver.MaxNumber || !strings.HasPrefix(note, h.Note) {
				t.Fatalf("the holder became %+v", h)
			}
		}
	}
}

// TestRecordBytesGolden pins the format.
func TestRecordBytesGolden(t *testing.T) {
	rec := record{number: 7, writer: 6, ran: 5, state: shared, owner: "s/4", name: "a/b", holder: []byte(`{"pid":3}`)}
	const want = "tenure lock 1\nsum 0002f563\nnumber 7\nwriter 6\nran 5\nstate shared\nowner s/4\nname \"a/b\"\nholder {\"pid\":3}\n"
	got := rec.encode()
	if text := string(bytes.TrimRight(got, " \n")) + "\n"; text != want {
		t.Fatalf("%q", text)
	}
}

func TestRecordVerdicts(t *testing.T) {
	whole := record{number: 7, state: free, name: "a"}.encode()
	torn := append(bytes.Clone(whole[:40]), record{number: 8123, state: exclusive, name: "a"}.encode()[40:]...)
	for _, c := range []struct {
		what string
		buf  []byte
		want verdict
	}{
		{"an empty file", nil, fresh},
		{"a whole record", whole, sound},
		{"a torn record", torn, damaged},
		{"the magic alone", []byte("tenure lock 1\n"), damaged},
		{"half of the magic", []byte("tenure"), damaged},
		{"a short record", whole[:recordSize-1], damaged},
		{"zeros, after a power cut", make([]byte, recordSize), damaged},
		{"the next format", append([]byte("tenure lock 2\n"), whole[14:]...), newer},
		{"somebody's notes", []byte("buy milk\n"), foreign},
		{"almost the magic", []byte("tenure lick 1\n"), foreign},
	} {
		if _, got := decode(c.buf); got != c.want {
			t.Errorf("%s: verdict %d, not %d", c.what, got, c.want)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(record{number: 7, state: free, name: "a"}.encode())
	f.Add([]byte("tenure lock 1\nsum 00000000\n"))
	f.Fuzz(func(t *testing.T, buf []byte) {
		if rec, what := decode(buf); what == sound && !bytes.Contains(buf, []byte(rec.owner)) {
			t.Fatalf("%+v", rec)
		}
	})
}

// TestH63NumbersAreExact: numbers above 2^53 keep their last bit, and rise whatever the clock says.
func TestH63NumbersAreExact(t *testing.T) {
	now := time.UnixMicro(1_700_000_000_000_000)
	for _, c := range []struct {
		last int64
		now  time.Time
		want int64
	}{
		{0, now, 1_700_000_000_000_000},
		{1_700_000_000_000_000, now, 1_700_000_000_000_001},
		{1<<53 + 1, now, 1<<53 + 2},
		{5, time.Unix(-1000, 0), 6},
		{0, time.Unix(-1000, 0), 1},
	} {
		if got := next(c.last, c.now); got != c.want {
			t.Errorf("after %d at %v: %d, not %d", c.last, c.now, got, c.want)
		}
	}
}
