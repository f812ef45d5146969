package session

import (
	"testing"
	"time"
)

func turns(d time.Duration) func(*Options) { return func(o *Options) { o.Turn = d } }

// TestH70Vacuum: a wait holds back VACUUM for its turn, and no longer, and has its place in the end.
func TestH70Vacuum(t *testing.T) {
	t.Parallel()
	for name, renewed := range map[string]bool{"renewed": true, "one long wait": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := server.Database(t)
			v, s := look(t, url), start(t, url, long)
			v.do("create table dead as select repeat('x', 500) from generate_series(1, 1000)")
			turn := time.Minute
			if renewed {
				turn = 500 * time.Millisecond
			}
			h := s.take(t, "x")
			w := start(t, url, long, turns(turn)).caller(t, "x").waits(t.Context())
			v.do("delete from dead")
			gone := func() bool {
				v.do("vacuum dead") // it truncates a table that is empty
				return v.count("select pg_relation_size('dead')") == 0
			}
			if renewed {
				until(t, prompt, "VACUUM removes the rows", gone)
				until(t, prompt, "the wait is renewed", func() bool { return v.queue("x") == 1 })
			} else {
				for range 5 {
					if gone() {
						t.Error("a wait of a minute does not hold back VACUUM: the other half of this test proves nothing")
					}
				}
			}
			h.releases()
			w.got(prompt)
			w.keeps()
			w.releases()
		})
	}
}
