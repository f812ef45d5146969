package rows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/pglock/internal/key"
)

const (
	// DefaultTTL is what Config.TTL stands for when it is zero.
	DefaultTTL = 30 * time.Second
	// DefaultKeep is what Config.Keep stands for when it is zero.
	DefaultKeep = 30 * 24 * time.Hour
	// maxName is the longest name in bytes.
	maxName = 512
)

// Config is how a store comes by its database. Dial is needed.
type Config struct {
	// Dial opens one more connection. It is called for the first one, after each that fails, and for one that listens while
	// somebody waits.
	Dial func(ctx context.Context) (*pgx.Conn, error)
	// TTL is the default of lockers that do not say so themselves. Zero: DefaultTTL. Any other is possible beside it.
	TTL time.Duration
	// Key gives the key of a name, which is the primary key of its row. Nil: the name itself, if it is valid.
	Key func(name string) (string, error)
	// Address is the database for people to read, without credentials.
	Address string
	// Keep is how long a row stays that nobody uses, in whole days. Zero: DefaultKeep. Negative: for ever.
	Keep time.Duration
}

// Store is one session with a database. It implements [driver.Store].
type Store struct {
	driver.Local
	config Config
	info   driver.Info
	sql    statements

	claims  claims
	combine combiner
	listen  listener

	closing chan struct{}      // closed when Close begins
	life    context.Context    // of everything that goes on in the background
	end     context.CancelFunc // of life
	work    sync.WaitGroup     // the goroutine that cleans
}

var _ driver.Store = (*Store)(nil)

// New opens a session and sees to it that the tables are there and that this role may write to them. After an error,
// which is a *driver.Fault, nothing is left open.
func New(ctx context.Context, config Config) (*Store, error) {
	switch {
	case config.Dial == nil:
		return nil, errors.New("rows: Config.Dial is missing")
	case config.TTL < 0:
		return nil, fmt.Errorf("rows: a TTL of %v: it must be positive", config.TTL)
	}
	if config.TTL == 0 {
		config.TTL = DefaultTTL
	}
	if config.Keep == 0 {
		config.Keep = DefaultKeep
	}
	if config.Key == nil {
		config.Key = NameKey
	}
	s := &Store{
		config:  config,
		sql:     newStatements(),
		closing: make(chan struct{}),
		info: driver.Info{
			Kind:       "postgres-rows",
			Address:    config.Address,
			Session:    driver.NewSession(),
			TTL:        config.TTL,
			Features:   driver.CanSlots | driver.CanRemember,
			Guarantees: guarantees(),
		},
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.claims.live = make(map[uint64]*claim)
	s.combine.s, s.listen.s = s, s
	s.combine.link = link{dial: config.Dial, life: s.life, patience: min(max(config.TTL/3, minPatience), maxPatience)}
	s.listen.wakes = make(map[uint64]chan struct{})

	// A batch of nothing asks for all the rights that a real one needs.
	if err := s.do(ctx, &job{kind: acquiring}); err != nil {
		s.end()
		s.combine.stop(ctx)
		return nil, err
	}
	s.work.Add(1)
	go s.cleanNowAndThen()
	return s, nil
}

// NameKey is the key of a name in this mode: the name itself, so that no two names exclude each other by chance. A name is
// valid UTF-8 without NUL, and between 1 and 512 bytes long. Names in the reserved form of advisory keys are refused.
func NameKey(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("a name cannot be empty")
	case len(name) > maxName:
		return "", fmt.Errorf("a name of %d bytes is too long: at most %d", len(name), maxName)
	case !utf8.ValidString(name):
		return "", fmt.Errorf("the name %q is not valid UTF-8", name)
	case key.Reserved(name):
		return "", fmt.Errorf("the name %q stands for an advisory lock of the server, which lease rows do not take and do not "+
			"exclude: use session locks, or another name", name)
	}
	for i := range len(name) {
		if name[i] == 0 {
			return "", fmt.Errorf("the name %q contains a NUL byte", name)
		}
	}
	return name, nil
}

// Info says what this session is and what lease rows promise.
func (s *Store) Info() driver.Info { return s.info }

// Key gives the key of a name.
func (s *Store) Key(name string) (string, error) { return s.config.Key(name) }

// Inspect tells who holds a name, who waits for it in the order in which they will be served, and when it last ran. The
// waiters for slots are those of the group's name.
func (s *Store) Inspect(ctx context.Context, name string) (driver.Report, error) {
	key, err := s.Key(name)
	if err != nil {
		return driver.Report{}, &driver.Fault{Kind: driver.Lasting, Err: err}
	}
	var report driver.Report
	err = s.do(ctx, &job{kind: single, sql: s.sql.inspect, args: []any{key}, read: func(rows pgx.Rows) error {
		var part string
		var acq, since, pid int64
		var h driver.Holder
		report = driver.Report{}
		_, err := pgx.ForEachRow(rows, []any{&part, &h.Session, &acq, &h.Number, &since, &h.Host, &pid, &h.Program, &h.Note}, func() error {
			known := h
			known.Acq, known.PID, known.Since = uint64(acq), int(pid), at(since)
			switch part {
			case "holder":
				report.Holders = append(report.Holders, known)
			case "waiter":
				report.Waiters = append(report.Waiters, known)
			case "ran":
				report.LastRun = known.Since
			}
			return nil
		})
		return err
	}})
	if err != nil {
		return driver.Report{}, err
	}
	return report, nil
}

// at is a time that the database gave in microseconds since 1970; zero is none.
func at(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us)
}

// micros is a duration for the database. It is never shorter than what was asked for.
func micros(d time.Duration) int64 {
	return int64((d + time.Microsecond - 1) / time.Microsecond)
}

func (s *Store) closedFault() error {
	return &driver.Fault{Kind: driver.Lasting, Err: fmt.Errorf("the session %s with the database is %w", s.info.Session, driver.ErrClosed)}
}
