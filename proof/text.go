package proof

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// String gives the operation as a line that Parse reads:
//
//	CALL RETURN CLIENT.N VERB NAME … [= OUTCOME …]
//
//	10 20 a.1 acquire stock exclusive = ok 256 until 900
//	10 30 b.1 acquire stock exclusive = held
//	15  - c.1 acquire stock exclusive
//	40 41 a.2 write stock 256 v1 = ok
//	40 41 c.2 write stock 255 v2 = stale 256
//	40 41 b.2 read stock = ok 256 v1
//	50 50 x.1 renew stock 256 = ok until 1200
//	60 60 x.2 lost stock 256 = ok
//	70 75 a.3 release stock 256 = lost
//	80 81 x.3 lose stock = ok
//	90 95 x.4 kill a = ok
//
// A "-" stands for an outcome that nobody has seen.
func (o *Op) String() string {
	var b strings.Builder
	returned := "-"
	if o.Returned() {
		returned = strconv.FormatInt(int64(o.Return), 10)
	}
	fmt.Fprintf(&b, "%d %s %s.%d %s %s", o.Call, returned, o.Client, o.N, o.Verb, word(o.Name))
	switch o.Verb {
	case Acquire:
		fmt.Fprintf(&b, " %v", o.Mode)
	case Renew, Lost, Release:
		fmt.Fprintf(&b, " %d", o.Token)
	case Write:
		fmt.Fprintf(&b, " %d %s", o.Token, word(o.Value))
	}
	if !o.Returned() {
		return b.String()
	}
	fmt.Fprintf(&b, " = %s", word(o.Outcome))
	switch {
	case o.Verb == Write && o.Newest != 0:
		fmt.Fprintf(&b, " %d", o.Newest)
	case o.Outcome != OK:
	case o.Verb == Acquire:
		fmt.Fprintf(&b, " %d", o.Token)
	case o.Verb == Read:
		fmt.Fprintf(&b, " %d %s", o.Token, word(o.Value))
	}
	if (o.Verb == Acquire || o.Verb == Renew) && o.Outcome == OK && o.Until != Never {
		fmt.Fprintf(&b, " until %d", o.Until)
	}
	return b.String()
}

// word quotes what would not be read back as one word.
func word(s string) string {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("\"=#", r) }
	if s == "" || strings.ContainsFunc(s, odd) {
		return strconv.QuoteToASCII(s)
	}
	return s
}

// String gives the history as text, one operation a line.
func (h History) String() string {
	var b strings.Builder
	for i := range h {
		b.WriteString(h[i].String())
		b.WriteByte('\n')
	}
	return b.String()
}

// Parse reads a history: one operation a line; empty lines, and those that begin with "#", are for people. Of several
// lines about one operation of a client the last counts. A last line without its end is dropped: its writer was killed.
func Parse(text io.Reader) (History, error) {
	type key struct {
		client string
		n      int
	}
	var h History
	at := make(map[key]int)
	in := bufio.NewReader(text)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			h.sort()
			return h, nil
		}
		if err != nil {
			return nil, fmt.Errorf("a history cannot be read: %w", err)
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		op, err := parseOp(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of a history, %q: %w", n, line, err)
		}
		if i, again := at[key{op.Client, op.N}]; again {
			h[i] = op
			continue
		}
		at[key{op.Client, op.N}] = len(h)
		h = append(h, op)
	}
}

// words takes a line apart. The first word that cannot be read fails all later ones.
type words struct {
	left string
	err  error
}

func (w *words) next() (string, bool) {
	w.left = strings.TrimLeft(w.left, " \t")
	if w.left == "" || w.err != nil {
		return "", false
	}
	if w.left[0] == '"' {
		quoted, err := strconv.QuotedPrefix(w.left)
		if err != nil {
			w.err = fmt.Errorf("a quote is not closed")
			return "", false
		}
		w.left = w.left[len(quoted):]
		s, err := strconv.Unquote(quoted)
		w.err = err
		return s, err == nil
	}
	end := strings.IndexAny(w.left, " \t")
	if end < 0 {
		end = len(w.left)
	}
	s := w.left[:end]
	w.left = w.left[end:]
	return s, true
}

func (w *words) need(what string) string {
	s, ok := w.next()
	if !ok && w.err == nil {
		w.err = fmt.Errorf("%s is missing", what)
	}
	return s
}

func (w *words) number(what string) int64 {
	s := w.need(what)
	if w.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		w.err = fmt.Errorf("%s should be a whole number, not %q", what, s)
	}
	return n
}

func (w *words) literal(want string) {
	if s := w.need(strconv.Quote(want)); w.err == nil && s != want {
		w.err = fmt.Errorf("%q should be %q", s, want)
	}
}

func parseOp(line string) (Op, error) {
	w := &words{left: line}
	op := Op{Return: Never, Until: Never}
	op.Call = Instant(w.number("the instant of the call"))
	if s, _ := w.next(); s != "-" {
		back := words{left: s, err: w.err}
		op.Return = Instant(back.number("the instant of the return"))
		w.err = back.err
	}
	client, n, _ := strings.Cut(w.need("the client"), ".")
	number := words{left: n, err: w.err}
	op.Client, op.N = client, int(number.number("the number behind the client"))
	w.err = number.err
	op.Verb, op.Name = Verb(w.need("the verb")), w.need("the name")
	if w.err != nil {
		return op, w.err
	}
	switch op.Verb {
	case Acquire:
		switch mode := w.need("the mode"); mode {
		case driver.Exclusive.String():
		case driver.Shared.String():
			op.Mode = driver.Shared
		default:
			return op, fmt.Errorf("%q is no mode", mode)
		}
	case Renew, Lost, Release:
		op.Token = tenure.Token(w.number("the token"))
	case Write:
		op.Token, op.Value = tenure.Token(w.number("the token")), w.need("the value")
	case Read, Lose, Kill:
	default:
		return op, fmt.Errorf("%q is no verb", op.Verb)
	}
	if op.Returned() {
		parseOutcome(w, &op)
	}
	if w.err == nil && strings.TrimSpace(w.left) != "" {
		w.err = fmt.Errorf("%q is too much", strings.TrimSpace(w.left))
	}
	if w.err == nil && op.Return < op.Call {
		w.err = fmt.Errorf("it returned before it was called")
	}
	return op, w.err
}

func parseOutcome(w *words, op *Op) {
	w.literal("=")
	op.Outcome = w.need("the outcome")
	switch {
	case op.Verb == Write && op.Outcome == Stale && w.left != "":
		op.Newest = tenure.Token(w.number("the newest token"))
	case op.Outcome != OK:
		return
	case op.Verb == Acquire:
		op.Token = tenure.Token(w.number("the token"))
	case op.Verb == Read:
		op.Token, op.Value = tenure.Token(w.number("the token")), w.need("the value")
	}
	if (op.Verb == Acquire || op.Verb == Renew) && (op.Verb == Renew || w.left != "") {
		w.literal("until")
		op.Until = Instant(w.number("the end of trust"))
	}
}
