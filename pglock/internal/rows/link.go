package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
)

const (
	// A statement, or a connection to be made, is given up after a third of the TTL, within these bounds.
	minPatience = 2 * time.Second
	maxPatience = 5 * time.Second
	// idle is after how long without a word a connection is looked at before it is used.
	idle = time.Second
	// farewell is how long to wait for the server to close a connection.
	farewell = time.Second
)

// link is the connection of a session. One that failed or hung is dropped, and the next statement opens another.
type link struct {
	dial     func(context.Context) (*pgx.Conn, error)
	life     context.Context
	patience time.Duration

	conn     *pgx.Conn
	used     time.Time
	cleanups []<-chan struct{} // of dropped connections, which tell the server off in the background
}

// dead asks the server for a sign of life.
func (l *link) dead() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return l.conn.Ping(ctx) != nil
}

// connect gives the connection. The error is a *driver.Fault: nothing was sent.
func (l *link) connect() (*pgx.Conn, error) {
	if l.conn != nil && time.Since(l.used) > idle && l.dead() {
		l.drop() // a server that restarted, or a pooler that cut us, is no fault of the next request
	}
	if l.conn != nil {
		return l.conn, nil
	}
	ctx, cancel := context.WithTimeout(l.life, l.patience)
	defer cancel()
	conn, err := dialChecked(ctx, l.dial)
	if err != nil {
		return nil, classify(err, 0)
	}
	l.conn, l.used = conn, time.Now()
	return conn, nil
}

// dialChecked refuses connections that cannot take a statement with its values written into it.
func dialChecked(ctx context.Context, dial func(context.Context) (*pgx.Conn, error)) (*pgx.Conn, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	for setting, want := range map[string]string{"standard_conforming_strings": "on", "client_encoding": "UTF8"} {
		if is := conn.PgConn().ParameterStatus(setting); is != want {
			err := fmt.Errorf("lease rows need %s = %s, and on this connection it is %q: set it for the role or in the connection's parameters", setting, want, is)
			_ = conn.Close(ctx) // it is of no use either way
			return nil, &driver.Fault{Kind: driver.Lasting, Err: err}
		}
	}
	return conn, nil
}

// query sends one statement and reads its answer. After an error the connection is dropped, unless the server has said so
// and goes on.
func (l *link) query(conn *pgx.Conn, sql string, args []any, read func(pgx.Rows) error) error {
	ctx, cancel := context.WithTimeout(l.life, l.patience)
	defer cancel()
	rows, err := conn.Query(ctx, sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
	if err == nil {
		err = read(rows)
		rows.Close()
		err = errors.Join(err, rows.Err())
	}
	l.used = time.Now()
	if conn.IsClosed() || wantsAnother(err) {
		l.drop()
	}
	return err
}

// drop gives the connection up.
func (l *link) drop() {
	conn := l.conn
	l.conn = nil
	if conn == nil {
		return
	}
	kept := l.cleanups[:0]
	for _, done := range l.cleanups {
		select {
		case <-done:
		default:
			kept = append(kept, done)
		}
	}
	l.cleanups = append(kept, conn.PgConn().CleanupDone())
	ctx, cancel := context.WithTimeout(l.life, farewell)
	defer cancel()
	_ = conn.Close(ctx) // it has failed already
}

// close closes the connection, and waits for those that were dropped as long as ctx lets it.
func (l *link) close(ctx context.Context) {
	if l.conn != nil {
		bounded, cancel := context.WithTimeout(ctx, farewell)
		defer cancel()
		_ = l.conn.Close(bounded) // nothing depends on how it ends
		l.conn = nil
	}
	for _, done := range l.cleanups {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
}
