package rows

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// linger is how long the listening connection outlives the last waiter.
	linger = time.Second
	// hearing is how long a test notification may take, and deafness how long a session that did not get it only asks.
	hearing  = 2 * time.Second
	deafness = 10 * time.Minute
	// reconnect is the pause after a listening connection has failed.
	reconnect = time.Second
)

var errDeaf = errors.New("LISTEN does not work here, as behind a pooler that shares connections")

// listener has the session's waiters woken: a connection of its own, which exists while somebody waits, hears on the
// session's channel which of them is next. What it misses, the waiters' own questions find out.
type listener struct {
	s *Store

	mu      sync.Mutex
	wakes   map[uint64]chan struct{} // by acquisition number
	running bool
	up      bool // tried: what is notified is heard
	deaf    time.Time
	stopped bool
	idle    *time.Timer        // runs while nobody waits
	quit    context.CancelFunc // of the goroutine that runs
	work    sync.WaitGroup
}

// channel is where waiters of this session can be woken; empty where they cannot.
func (l *listener) channel() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.up {
		return ""
	}
	return l.name()
}

func (l *listener) name() string { return "tenure_" + l.s.info.Session }

// enter gives a waiter its wake-up, until it leaves.
func (l *listener) enter(acq uint64) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	wake := make(chan struct{}, 1)
	l.wakes[acq] = wake
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
	if !l.running && !l.stopped && time.Now().After(l.deaf) {
		l.running = true
		ctx, quit := context.WithCancel(l.s.life)
		l.quit = quit
		l.work.Add(1)
		go l.run(ctx)
	}
	return wake
}

func (l *listener) leave(acq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.wakes, acq)
	if len(l.wakes) == 0 && l.running && l.idle == nil {
		l.idle = time.AfterFunc(linger, l.rest)
	}
}

// rest ends the goroutine if still nobody waits.
func (l *listener) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wakes) == 0 && l.running {
		l.quit()
	}
}

// run listens until nobody waits, the session closes, or it turns out to be in vain.
func (l *listener) run(ctx context.Context) {
	defer l.work.Done()
	for {
		err := l.listen(ctx)
		if l.isOver(ctx, err) {
			return
		}
		pause := time.NewTimer(reconnect)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// isOver ends the goroutine, or else has it go on. Waiters are told to ask again, under another channel or none.
func (l *listener) isOver(ctx context.Context, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up {
		l.up = false
		l.wakeAll()
	}
	if errors.Is(err, errDeaf) {
		l.deaf = time.Now().Add(deafness)
	} else if ctx.Err() == nil {
		return false
	}
	l.quit()
	l.running = false
	if ctx.Err() != nil && len(l.wakes) > 0 && !l.stopped { // somebody came as it ended
		l.running = true
		again, quit := context.WithCancel(l.s.life)
		l.quit = quit
		l.work.Add(1)
		go l.run(again)
	}
	return true
}

// listen opens the connection, tries it, and hears until it fails or ctx ends.
func (l *listener) listen(ctx context.Context) error {
	conn, err := l.open(ctx)
	if conn != nil {
		defer func() {
			bounded, cancel := context.WithTimeout(l.s.life, farewell)
			defer cancel()
			_ = conn.Close(bounded) // it is of no use any more
			select {
			case <-conn.PgConn().CleanupDone():
			case <-bounded.Done():
			}
		}()
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.up = true
	l.wakeAll() // so that they ask under the channel
	l.mu.Unlock()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if acq, err := strconv.ParseInt(n.Payload, 10, 64); err == nil {
			l.wake(uint64(acq))
		}
	}
}

// open gives a connection on which a notification has been heard. With errDeaf it was not. The connection, if there is one,
// is the caller's to close.
func (l *listener) open(ctx context.Context) (*pgx.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, l.s.combine.link.patience)
	defer cancel()
	conn, err := l.s.config.Dial(bounded)
	if err != nil {
		return nil, err
	}
	if err := conn.PgConn().Exec(bounded, "listen "+l.name()).Close(); err != nil {
		return conn, err
	}
	// The test comes over the other connection: this one must hear it while it does nothing.
	const probe = "probe"
	err = l.s.do(bounded, &job{
		kind: single, sql: "select pg_notify($1::text, $2::text)", args: []any{l.name(), probe},
		read: func(rows pgx.Rows) error { rows.Close(); return rows.Err() },
	})
	if err != nil {
		return conn, err
	}
	heard, cancel := context.WithTimeout(ctx, hearing)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(heard)
		switch {
		case err == nil && n.Payload == probe:
			return conn, nil
		case err != nil && heard.Err() != nil && ctx.Err() == nil && !conn.IsClosed():
			_ = conn.PgConn().Exec(bounded, "unlisten *").Close() // leave nothing on a connection that others will use
			return conn, errDeaf
		case err != nil:
			return conn, err
		}
	}
}

func (l *listener) wake(acq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wake := l.wakes[acq]; wake != nil {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// wakeAll wakes everybody. The mutex is held.
func (l *listener) wakeAll() {
	for _, wake := range l.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// stop ends the goroutine and joins it.
func (l *listener) stop() {
	l.mu.Lock()
	l.stopped = true
	if l.idle != nil {
		l.idle.Stop()
	}
	if l.running {
		l.quit()
	}
	l.mu.Unlock()
	l.work.Wait()
}
