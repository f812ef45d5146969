package proof

import (
	"strings"
	"sync"
	"testing"

	"github.com/tenurelock/tenure/driver"
)

func TestParseSaysWhatIsWrong(t *testing.T) {
	for line, want := range map[string]string{
		"x 10 a.1 read stock = ok 256 v":                "the instant of the call should be a whole number",
		"10 y a.1 read stock = ok 256 v":                "the instant of the return should be a whole number",
		"10 9 a.1 read stock = ok 256 v":                "returned before it was called",
		"10 20 a read stock = ok 256 v":                 "the number behind the client is missing",
		"10 20 a.1 eat stock = ok":                      `"eat" is no verb`,
		"10 20 a.1 acquire stock mine = held":           `"mine" is no mode`,
		"10 20 a.1 acquire stock exclusive = ok 256 to": `"to" should be "until"`,
		"10 20 a.1 acquire stock exclusive = held 256":  `"256" is too much`,
		"10 20 a.1 read stock":                          `"=" is missing`,
		"10 - a.1 read stock = ok 256 v":                "is too much",
		`10 20 a.1 read "stock = ok 256 v`:              "a quote is not closed",
		"10 20 a.1 renew stock 256 = ok":                `"until" is missing`,
	} {
		_, err := Parse(strings.NewReader("\n# comment\n" + line + "\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%s: %v, and it should say %q in line 3", line, err, want)
		}
	}
}

// TestStreamOfAKilledProcess has calls that never returned, and a last line that was cut.
func TestStreamOfAKilledProcess(t *testing.T) {
	var stream strings.Builder
	now := Instant(0)
	recorder := NewRecorder(func() Instant { now += 10; return now })
	recorder.StreamTo(&stream)
	a, b := recorder.Client("a"), recorder.Client("b")
	write := a.Call(Op{Verb: Write, Name: "stock", Token: 256, Value: "v1"})
	b.Call(Op{Verb: Read, Name: "stock"})
	a.Return(write, func(op *Op) { op.Outcome = OK })
	a.Event(Op{Verb: Lost, Name: "stock", Token: 256, Outcome: OK})
	const want = "10 30 a.1 write stock 256 v1 = ok\n20 - b.1 read stock\n40 40 a.2 lost stock 256 = ok\n"
	recorded, err := recorder.History()
	if err != nil || recorded.String() != want {
		t.Errorf("recorded\n%v%v", recorded, err)
	}
	parsed, err := Parse(strings.NewReader(stream.String() + "50 60 a.3 write stock 5"))
	if err != nil || parsed.String() != want {
		t.Errorf("parsed\n%v%v", parsed, err)
	}
}

// TestRecordersOfManyClients has goroutines record at once, on a clock that never stands still.
func TestRecordersOfManyClients(t *testing.T) {
	recorder := NewRecorder(Rising(func() Instant { return 5 }))
	shared := recorder.Client("shared")
	var clients sync.WaitGroup
	for range 8 {
		own := recorder.Client("own")
		clients.Go(func() {
			for range 50 {
				op := own.Call(Op{Verb: Acquire, Name: "x", Mode: driver.Shared})
				shared.Event(Op{Verb: Lost, Name: "x", Outcome: OK})
				own.Return(op, func(op *Op) { op.Outcome = "held" })
			}
		})
	}
	clients.Wait()
	h, err := recorder.History()
	if err != nil || len(h) != 800 {
		t.Fatalf("%d operations, %v", len(h), err)
	}
	for i := 1; i < len(h); i++ {
		if h[i].Call <= h[i-1].Call {
			t.Fatalf("two readings of a rising clock are %d and %d", h[i-1].Call, h[i].Call)
		}
	}
}

func TestMergeOrdersByTheCall(t *testing.T) {
	one, _ := Parse(strings.NewReader("10 20 a.1 lose x = ok\n50 60 a.2 lose x = ok\n"))
	two, _ := Parse(strings.NewReader("30 40 b.1 lose x = ok\n"))
	const want = "10 20 a.1 lose x = ok\n30 40 b.1 lose x = ok\n50 60 a.2 lose x = ok\n"
	if got := Merge(one, two).String(); got != want {
		t.Errorf("merged\n%s", got)
	}
}
