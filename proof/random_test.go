package proof

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/driver"
)

// TestTokenChecksAgree lets the quick check and porcupine judge many small histories, of which about half are bad.
func TestTokenChecksAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	verdicts := make(map[bool]int)
	for range 4000 {
		var h History
		for i := range 1 + rng.IntN(6) {
			call := Instant(rng.IntN(20))
			h = append(h, Op{
				Client: string(rune('a' + i)), N: 1, Call: call, Return: call + Instant(rng.IntN(12)),
				Verb: Acquire, Name: "x", Token: tenure.Token(1 + int(call)/2 + rng.IntN(6)), Until: Never, Outcome: OK,
			})
			if rng.IntN(8) == 0 {
				h[i].Return = Never
			}
		}
		h.sort()
		direct, model := CheckTokens(h), LinearizeTokens(h, time.Minute)
		if (direct == nil) != (model == nil) {
			t.Fatalf("the two checks disagree:\n%v\n%v\n%v", h, direct, model)
		}
		verdicts[direct == nil]++
	}
	if verdicts[true] < 500 || verdicts[false] < 500 {
		t.Errorf("of the random histories %d are good and %d bad: too few of one kind", verdicts[true], verdicts[false])
	}
}

// TestOverlapsAreAllFound compares the sweep with a look at every pair.
func TestOverlapsAreAllFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 2000 {
		var intervals []Interval
		from := Instant(0)
		for i := range rng.IntN(8) {
			from += Instant(rng.IntN(5))
			intervals = append(intervals, Interval{
				Name: string(rune('x' + rng.IntN(2))), Token: tenure.Token(i + 1), Mode: driver.Mode(rng.IntN(2)),
				From: from, To: from + 1 + Instant(rng.IntN(9)),
			})
		}
		want := make(map[Overlap]bool)
		for i, a := range intervals {
			for _, b := range intervals[i+1:] {
				if a.Name == b.Name && (a.Mode == driver.Exclusive || b.Mode == driver.Exclusive) && a.From < b.To && b.From < a.To {
					want[Overlap{a, b}] = true
				}
			}
		}
		got := Overlaps(intervals)
		for _, overlap := range got {
			if !want[overlap] {
				t.Fatalf("found what is none: %v", overlap)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("found %d of %d in %v", len(got), len(want), intervals)
		}
		found += len(got)
	}
	if found < 500 {
		t.Errorf("only %d overlaps in all", found)
	}
}

// randomOp makes any operation that can be.
func randomOp(rng *rand.Rand, n int) Op {
	names := []string{"stock", "two words", "", "\"quoted\"", "a=b", "täglich", "tab\there", "#1", "\xff"}
	verbs := []Verb{Acquire, Renew, Lost, Release, Write, Read, Lose, Kill}
	op := Op{
		Client: "c", N: n, Call: Instant(n), Return: Instant(n + rng.IntN(50)), Until: Never,
		Verb: verbs[rng.IntN(len(verbs))], Name: names[rng.IntN(len(names))], Outcome: OK,
	}
	token := tenure.Token(1 + rng.Int64N(1<<62))
	unseen := rng.IntN(4) == 0
	switch op.Verb {
	case Acquire:
		op.Mode = driver.Mode(rng.IntN(2))
		if unseen {
			break
		}
		if op.Token = token; rng.IntN(2) == 0 {
			op.Until = 77
		}
	case Renew:
		op.Token, op.Until, unseen = token, 99, false
	case Lost, Release:
		op.Token = token
	case Write:
		op.Token, op.Value = token, names[rng.IntN(len(names))]
		if !unseen && rng.IntN(2) == 0 {
			op.Outcome, op.Newest = Stale, token+1
		}
	case Read:
		if !unseen {
			op.Token, op.Value = token, names[rng.IntN(len(names))]
		}
	}
	if unseen {
		op.Return, op.Outcome = Never, ""
	}
	return op
}

// TestTextIsReadBack prints random histories and reads them back.
func TestTextIsReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		var h History
		for n := range 10 {
			h = append(h, randomOp(rng, n+1))
		}
		back, err := Parse(strings.NewReader(h.String()))
		if err != nil {
			t.Fatalf("%v\n%v", err, h)
		}
		if back.String() != h.String() {
			t.Fatalf("read back as\n%vand was\n%v", back, h)
		}
		for i := range h {
			if back[i] != h[i] {
				t.Fatalf("read back as %+v and was %+v", back[i], h[i])
			}
		}
	}
}
