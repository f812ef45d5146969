// Package wire speaks PostgreSQL's extended protocol on one connection whose statements are all prepared: many of them in
// one message, and answers that can be read on later when the reader had to go.
//
// The connection is opened, authenticated and set up by pgx, then taken over from it. Pgx's own pipeline would do, but for
// two things: its calls own the socket until they return, so that a caller whose context ends must break the connection,
// and nobody hears of the server's farewell on an idle one. Here a read that was interrupted goes on where it stopped.
//
// A Link is not safe for concurrent use, except for Interrupt and Close.
package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// ErrInterrupted says that the answer has not come whole yet: Collect again goes on with it.
var ErrInterrupted = errors.New("not answered yet")

// A BrokenError says that the connection is of no use any more.
type BrokenError struct {
	// Farewell says that the server has ended the session by itself, so that nothing of it is left there.
	Farewell bool
	Err      error
}

// Error says what broke it.
func (e *BrokenError) Error() string { return e.Err.Error() }

// Unwrap gives what broke it.
func (e *BrokenError) Unwrap() error { return e.Err }

// Handler takes the rows of an exchange. The values are only valid during the call.
type Handler interface {
	// Row is one row of the statement with that index in the exchange, in binary form.
	Row(statement int, values [][]byte)
	// Done says that the statement succeeded.
	Done(statement int)
	// Refused says that the server refused the statement. What came before it since the last Cut had no effect, except for
	// session locks, and what comes after it up to the next one is not run.
	Refused(statement int, err *pgconn.PgError)
}

// Link is one connection.
type Link struct {
	conn     net.Conn
	front    *pgproto3.Frontend
	pid      uint32
	patience time.Time // the read deadline that is set; zero: none
	out      []byte    // what is to be sent; the frontend would allocate a new one after each large message

	call  pgproto3.FunctionCall // kept, as is value: a new one would be allocated each time
	value [1][]byte

	uncomposed error // what could not be encoded

	interrupted atomic.Bool

	// The exchange that is under way.
	pending int   // statements sent
	at      int   // the one whose answer is being read
	cuts    []int // how many statements come before each end of a transaction
	synced  int   // how many of them have been answered
}

// Take takes a connection over from pgx, which must not be used any more. After an error it is closed.
func Take(ctx context.Context, conn *pgx.Conn) (*Link, error) {
	pg := conn.PgConn()
	if err := pg.SyncConn(ctx); err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	taken, err := pg.Hijack()
	if err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	_ = taken.Conn.SetDeadline(time.Time{})
	return &Link{conn: taken.Conn, front: taken.Frontend, pid: taken.PID}, nil
}

// binaryOnly is the format of all parameters and results.
var binaryOnly = []int16{pgx.BinaryFormatCode}

// Add puts a prepared statement into the exchange that Send will send.
func (l *Link) Add(statement string, params ...[]byte) {
	l.compose(&pgproto3.Bind{
		PreparedStatement: statement, ParameterFormatCodes: binaryOnly, Parameters: params, ResultFormatCodes: binaryOnly,
	})
	l.compose(&pgproto3.Execute{})
	l.pending++
}

// Call puts a call of a function into the exchange, by its oid: a transaction of its own. The server plans nothing, and runs
// no executor, for a call; that is a good part of what a short statement costs it. The value comes as a row.
func (l *Link) Call(function uint32, arg []byte) {
	l.Cut()
	l.call.Function, l.call.Arguments = function, append(l.call.Arguments[:0], arg)
	l.call.ArgFormatCodes, l.call.ResultFormatCode = callBinary, pgx.BinaryFormatCode
	l.compose(&l.call)
	l.pending++
	l.cuts = append(l.cuts, l.pending) // the server answers it as it answers a Sync
}

var callBinary = []uint16{pgx.BinaryFormatCode}

// compose adds a message to what will be sent. One that is too long for the protocol breaks the link when it is.
func (l *Link) compose(message pgproto3.FrontendMessage) {
	out, err := message.Encode(l.out)
	if err != nil {
		l.uncomposed = err
		return
	}
	l.out = out
}

// Cut ends a transaction in the middle of the exchange: what is added after it does not suffer from an error before it.
func (l *Link) Cut() {
	if n := len(l.cuts); l.pending == 0 || n > 0 && l.cuts[n-1] == l.pending {
		return
	}
	l.compose(&pgproto3.Sync{})
	l.cuts = append(l.cuts, l.pending)
}

// small is what surely fits into a socket's buffer when the last exchange has been answered.
const small = 4096

// large is what a buffer is not kept at.
const large = 1 << 20

// Send sends what was added, by the given time: what takes longer breaks the link.
func (l *Link) Send(by time.Time) error {
	l.Cut()
	if len(l.out) > small { // setting a deadline costs more than sending a little
		_ = l.conn.SetWriteDeadline(by)
		defer func() { _ = l.conn.SetWriteDeadline(time.Time{}) }()
	}
	if l.uncomposed != nil {
		return &BrokenError{Err: l.uncomposed}
	}
	_, err := l.conn.Write(l.out)
	if l.out = l.out[:0]; cap(l.out) > large {
		l.out = nil
	}
	if err != nil {
		return &BrokenError{Err: fmt.Errorf("the connection broke: %w", err)}
	}
	return nil
}

// Collect reads the answers until all have come, by the given time (zero: however long it takes), or until Interrupt. Nil:
// the exchange is over. [ErrInterrupted]: call it again. A *[BrokenError]: the link is dead.
//
// A deadline costs more than reading does, so one that is set already stays if it is within slack of the one that is wanted.
func (l *Link) Collect(h Handler, by time.Time, slack time.Duration) error {
	if err := l.expect(by, slack); err != nil {
		return err
	}
	for l.synced < len(l.cuts) {
		message, err := l.front.Receive()
		if err != nil {
			return l.failure(err)
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			h.Row(l.at, m.Values)
		case *pgproto3.FunctionCallResponse:
			l.value[0] = m.Result
			h.Row(l.at, l.value[:])
			h.Done(l.at)
			l.at++
		case *pgproto3.CommandComplete:
			h.Done(l.at)
			l.at++
		case *pgproto3.ErrorResponse:
			if err := farewell(m); err != nil {
				return err
			}
			refused := pgconn.ErrorResponseToPgError(m)
			if l.at >= l.cuts[l.synced] { // no statement failed, but the end of their transaction
				return &BrokenError{Err: refused}
			}
			h.Refused(l.at, refused)
		case *pgproto3.ReadyForQuery:
			l.at = l.cuts[l.synced] // those that an error made the server skip have no answer
			l.synced++
		}
	}
	l.pending, l.at, l.cuts, l.synced = 0, 0, l.cuts[:0], 0
	return nil
}

// farewell is the error if the server ends the session with this one.
func farewell(m *pgproto3.ErrorResponse) error {
	severity := m.SeverityUnlocalized
	if severity == "" {
		severity = m.Severity
	}
	if severity != "FATAL" && severity != "PANIC" {
		return nil
	}
	return &BrokenError{Farewell: true, Err: pgconn.ErrorResponseToPgError(m)}
}

// Idle waits, while no exchange is under way, until the connection breaks, which is the error, until the given time, or
// until Interrupt: [ErrInterrupted].
func (l *Link) Idle(by time.Time) error {
	if err := l.expect(by, 0); err != nil {
		return err
	}
	for {
		message, err := l.front.Receive()
		if err != nil {
			return l.failure(err)
		}
		if m, ok := message.(*pgproto3.ErrorResponse); ok {
			if err := farewell(m); err != nil {
				return err
			}
		}
	}
}

// expect sets the read deadline, unless it is near enough to what is wanted, or an interrupt has been asked for.
func (l *Link) expect(by time.Time, slack time.Duration) error {
	if d := by.Sub(l.patience); by.IsZero() != l.patience.IsZero() || d > slack || d < -slack {
		if err := l.conn.SetReadDeadline(by); err != nil {
			return &BrokenError{Err: err}
		}
		l.patience = by
	}
	if l.interrupted.Swap(false) {
		l.patience = longAgo
		return ErrInterrupted
	}
	return nil
}

var longAgo = time.Unix(1, 0)

// Interrupt makes a Collect or Idle that runs, or else the next one, return ErrInterrupted. It may be called at any time.
func (l *Link) Interrupt() {
	l.interrupted.Store(true)
	_ = l.conn.SetReadDeadline(longAgo)
}

func (l *Link) failure(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		l.interrupted.Store(false)
		l.patience = longAgo // so that the next one sets it anew, also where an old Interrupt came late
		return ErrInterrupted
	}
	return &BrokenError{Err: fmt.Errorf("the connection broke: %w", err)}
}

// PID is the backend's process id as the connection's key data told it; zero where it did not.
func (l *Link) PID() uint32 { return l.pid }

// Close closes the socket. The server then ends the session, and frees its locks, as soon as it reads that.
func (l *Link) Close() { _ = l.conn.Close() }

// Farewell ends the session in order: whatever was sent before is carried out first.
func (l *Link) Farewell() {
	_ = l.conn.SetWriteDeadline(time.Now().Add(time.Second))
	if farewell, err := (&pgproto3.Terminate{}).Encode(nil); err == nil {
		_, _ = l.conn.Write(farewell)
	}
	l.Close()
}

// Int8 gives a parameter of type bigint.
func Int8(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
