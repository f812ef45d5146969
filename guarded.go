package tenure

import (
	"context"
	"fmt"

	"github.com/tenurelock/tenure/driver"
)

// A driver that panics must not take the program's callers, or the session's own goroutines, with it: what it was asked may
// have happened or not, which is what these make of it.

func (s *session) acquire(ctx context.Context, req *driver.Request) (grant driver.Grant, err error) {
	sent := driver.Now()
	defer func() {
		if p := recover(); p != nil {
			err = &driver.Fault{Kind: driver.Unknown, Sent: sent, Err: panicked("acquiring", p)}
		}
	}()
	return s.store.Acquire(ctx, req)
}

func (s *session) release(ctx context.Context, ref driver.Ref) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked("releasing", p)
		}
	}()
	return s.store.Release(ctx, ref)
}

func (s *session) renew(ctx context.Context, batch []driver.Renewal) {
	defer func() {
		if p := recover(); p != nil {
			for i := range batch {
				batch[i].Err = panicked("renewing", p)
			}
		}
	}()
	s.store.Renew(ctx, batch)
}

func (s *session) abandon(ctx context.Context, batch []driver.Removal) {
	defer func() {
		if p := recover(); p != nil {
			for i := range batch {
				batch[i].Err = panicked("cleaning up", p)
			}
		}
	}()
	s.store.Abandon(ctx, batch)
}

func panicked(doing string, p any) error {
	return fmt.Errorf("the driver panicked while %s: %v", doing, p)
}
