package pglock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/connect"
	"github.com/tenurelock/tenure/pglock/internal/session"
)

// Store is a session of this process with a PostgreSQL database, for tenure.New. It is safe for concurrent use.
type Store struct {
	driver.Store
	dialer *connect.Dialer
	mode   Mode
	closed atomic.Bool
}

var (
	_ driver.Store       = (*Store)(nil)
	_ driver.Descriptors = (*Store)(nil)
)

// Open opens a session with the database that a URL or a keyword/value string names, as pgx.ParseConfig reads it, with the
// environment's PGHOST and so on. Two more settings may stand in it, where opts leaves them at zero:
//
//	postgres://app@db.example/app?tenure_mode=rows       Options.Mode: sessions or rows
//	postgres://app@db.example/app?tenure_pooler=session  Options.SessionPooler
//
// Errors never repeat a password. See New for what holds after success and after failure.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	config, opts, err := ParseURL(url, opts)
	if err != nil {
		return nil, err
	}
	return New(ctx, config, opts)
}

// fromURL takes the settings of Tenure's out of those that would be sent to the server.
func (o Options) fromURL(params map[string]string) (Options, error) {
	for name, value := range params {
		if !strings.HasPrefix(name, "tenure_") {
			continue
		}
		delete(params, name)
		switch {
		case name == "tenure_mode" && value == "rows":
			o.Mode = Rows
		case name == "tenure_mode" && value == "sessions":
		case name == "tenure_mode":
			return o, fmt.Errorf("pglock: tenure_mode=%s; sessions or rows is right", value)
		case name == "tenure_pooler" && value == "session":
			o.SessionPooler = true
		case name == "tenure_pooler":
			return o, fmt.Errorf("pglock: tenure_pooler=%s; session is right, for a pooler of whole sessions; other poolers need tenure_mode=rows", value)
		default:
			return o, fmt.Errorf("pglock: %s is no setting; tenure_mode and tenure_pooler are", name)
		}
	}
	return o, nil
}

// New opens a session with the database of a configuration, which must come from pgx.ParseConfig; it keeps its TLS, its
// hooks and its fallbacks. Of a pgxpool.Config give ConnConfig, and BeforeConnect as an option. The connections are the
// store's own: it takes none of the application's pool.
//
// It creates the schema tenure, or brings it up to date, if the role may; otherwise the error says which statements an
// administrator must run. The error also says what is wrong with a standby, a database that is read-only, a server older
// than 15 and, in mode Sessions, a connection pooler. After an error nothing is left open.
func New(ctx context.Context, config *pgx.ConnConfig, opts Options) (*Store, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	if config == nil {
		return nil, errors.New("pglock: a nil configuration; pgx.ParseConfig makes one")
	}
	dialer := connect.New(config, opts.BeforeConnect)
	var store driver.Store
	if opts.Mode == Rows {
		store, err = newRows(ctx, dialer, opts)
	} else {
		store, err = session.New(ctx, dialer, session.Options{
			TTL: opts.TTL, Waits: opts.Waits, Waited: opts.Waited, MaxLocks: opts.MaxLocks, Turn: longestWait, Pooler: opts.SessionPooler,
			Keep: opts.keepDays(),
		})
	}
	if err != nil {
		return nil, fmt.Errorf("pglock: %w", err)
	}
	return &Store{Store: store, dialer: dialer, mode: opts.Mode}, nil
}

// Close ends the session: waiters return at once, holders are told, and then what is held is freed. It waits for that until
// ctx ends. A second Close does nothing.
func (s *Store) Close(ctx context.Context) error {
	s.closed.Store(true)
	return s.Store.Close(ctx)
}

// Descriptors duplicates the socket of the connection that holds a grant. A grant of mode Rows depends on none.
func (s *Store) Descriptors(ref driver.Ref) (driver.DescriptorSet, error) {
	if sockets, ok := s.Store.(driver.Descriptors); ok {
		return sockets.Descriptors(ref)
	}
	return driver.DescriptorSet{}, nil
}

// ErrPooler is in the error of New when a connection pooler is between the store and the server.
var ErrPooler = session.ErrPooler
