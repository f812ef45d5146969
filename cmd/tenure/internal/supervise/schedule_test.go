//go:build linux || darwin

package supervise

import (
	"testing"
	"time"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

// walk goes through the steps that are due, each at the moment at which it is.
func walk(s *schedule, from time.Time) (steps []string) {
	for now := from; len(steps) < 5; {
		switch step, why := s.due(now); step {
		case term:
			steps = append(steps, "TERM "+now.Sub(start).String()+": "+why.String())
			s.termed = now
		case kill:
			steps = append(steps, "KILL "+now.Sub(start).String()+": "+why.String())
			s.killed = true
		case nothing:
			if s.next().IsZero() {
				return steps
			}
			if !s.next().After(now) {
				return append(steps, "it is due at once and yet nothing is")
			}
			now = s.next()
		}
	}
	return steps
}

func TestSchedule(t *testing.T) {
	const late = "the lock could not be renewed in time"
	const worn = "the lock was held for as long as --max-hold allows"
	for _, c := range []struct {
		name     string
		schedule schedule
		want     []string
	}{
		{
			"TERM comes the grace before the deadline, KILL at it",
			schedule{grace: 5 * time.Second, deadline: after(25 * time.Second)},
			[]string{"TERM 20s: " + late, "KILL 25s: " + late},
		},
		{
			"without a grace, only KILL",
			schedule{deadline: after(25 * time.Second)},
			[]string{"KILL 25s: " + late},
		},
		{
			"MaxHold leaves the grace, if the deadline does",
			schedule{grace: 5 * time.Second, deadline: after(25 * time.Second), worn: after(3 * time.Second)},
			[]string{"TERM 3s: " + worn, "KILL 8s: finished"},
		},
		{
			"MaxHold shortly before the deadline",
			schedule{grace: 5 * time.Second, deadline: after(25 * time.Second), worn: after(19 * time.Second)},
			[]string{"TERM 19s: " + worn, "KILL 24s: finished"},
		},
		{
			"MaxHold behind it plays no part",
			schedule{grace: 5 * time.Second, deadline: after(25 * time.Second), worn: after(21 * time.Second)},
			[]string{"TERM 20s: " + late, "KILL 25s: " + late},
		},
		{
			"after TERM for another reason, KILL comes after the grace",
			schedule{grace: 5 * time.Second, deadline: after(25 * time.Second), termed: start},
			[]string{"KILL 5s: finished"},
		},
		{
			"but at the deadline at the latest",
			schedule{grace: 50 * time.Second, deadline: after(25 * time.Second), termed: start},
			[]string{"KILL 25s: " + late},
		},
		{
			"a deadline that has passed",
			schedule{grace: 5 * time.Second, deadline: after(-time.Second)},
			[]string{"KILL 0s: " + late},
		},
	} {
		got := walk(&c.schedule, start)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
}

func TestADeadlineOnlyMovesOn(t *testing.T) {
	s := schedule{grace: time.Second, deadline: after(10 * time.Second)}
	s.extend(after(9 * time.Second))
	if !s.deadline.Equal(after(10 * time.Second)) {
		t.Error("it moved back")
	}
	s.extend(after(20 * time.Second))
	if step, _ := s.due(after(10 * time.Second)); step != nothing {
		t.Error("a renewal did not put TERM off")
	}
	if !s.next().Equal(after(19 * time.Second)) {
		t.Errorf("TERM is due at %v", s.next())
	}
}
