package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// operator does to sessions and store what clients do not.
type operator struct {
	t   *torture
	rng *rand.Rand
	log *Client
}

func newOperator(t *torture) *operator {
	return &operator{t: t, rng: t.random(0), log: t.recorder.Client("operator")}
}

// run goes on until ctx ends, and leaves all sessions open and all ways to the store whole.
func (o *operator) run(ctx context.Context) {
	for wait(ctx, o.upTo(20*o.t.pace())) {
		s := o.t.sessions[o.rng.IntN(len(o.t.sessions))]
		switch dice := o.rng.IntN(20); {
		case dice < 6 && o.t.Lose != nil:
			o.lose()
		case dice < 4 && o.t.Break != nil:
			o.crash()
		case dice < 12:
			o.outage(ctx, s)
		case dice < 14:
			o.reopen(ctx, s, func(ctx context.Context) error { return s.closeWithin(ctx, o.t.longest()) })
		case dice < 16:
			o.reopen(ctx, s, func(ctx context.Context) error { return s.closeWithin(ctx, o.upTo(o.t.pace())) })
		case dice < 17:
			o.reopen(ctx, s, s.drop)
		}
	}
}

// longest is more than any client holds a lease.
func (t *torture) longest() time.Duration { return 10 * t.ttl() }

func (o *operator) upTo(d time.Duration) time.Duration {
	return time.Duration(o.rng.Int64N(int64(d) + 1))
}

// outage takes the way to the store from a session whose clients hold leases that have been renewed, for long enough
// that the store passes the names on.
func (o *operator) outage(ctx context.Context, s *session) {
	s.busy.Store(true)
	defer s.busy.Store(false)
	wait(ctx, o.t.ttl()/2+o.upTo(o.t.ttl()/2))
	store, _ := s.now()
	store.Cut(true)
	defer store.Cut(false)
	wait(ctx, o.t.ttl()/2+o.upTo(3*o.t.ttl()/2))
}

func (o *operator) lose() {
	names := o.t.every()
	name := names[o.rng.IntN(len(names))]
	op := o.log.Call(Op{Verb: Lose, Name: name})
	o.t.Lose(name)
	o.log.Return(op, func(op *Op) { op.Outcome = OK })
}

// crash has the store end sessions. A store whose locks survive it has not lost any.
func (o *operator) crash() {
	var ops []*Op
	if !o.t.info.Guarantees.Promises.Has(driver.LockSurvivesCrash) {
		for _, name := range o.t.every() {
			ops = append(ops, o.log.Call(Op{Verb: Lose, Name: name}))
		}
	}
	if err := o.t.Break(o.rng); err != nil {
		o.t.failIf(fmt.Errorf("breaking the store: %w", err))
	}
	for _, op := range ops {
		o.log.Return(op, func(op *Op) { op.Outcome = OK })
	}
}

// reopen closes a session in one of the ways, and opens it anew, also when ctx ends meanwhile.
func (o *operator) reopen(ctx context.Context, s *session, end func(context.Context) error) {
	ctx = context.WithoutCancel(ctx)
	s.leave()
	defer s.comeBack()
	if err := end(ctx); err != nil {
		o.t.failIf(err)
	}
	if err := s.open(ctx); err != nil {
		o.t.failIf(fmt.Errorf("opening a session anew: %w", err))
	}
}
