package redislock

import (
	"fmt"
	"log/slog"
	"time"
)

// Options are those of Open and New. Zero is the default.
type Options struct {
	// TTL is the default of a Locker's: how long the server keeps a lease that nobody renews. Default 30 s.
	TTL time.Duration
	// Prefix is put in front of names. A lock's key is the name behind it, and nothing else, so that programs that take keys by
	// SET NX exclude Tenure and are excluded. Default: none.
	Prefix string
	// Grace is after how long of hearing nothing of a holder's connection, while the server serves others, its lease passes on
	// to those who wait: a killed process is noticed by that, a stalled one is not. Its price is that a lease also ends when its
	// holder cannot reach the server for as long. Default: a sixth of the TTL, none below 500 ms. Negative: none, so that crashed
	// holders are left to the TTL, as they are in a Cluster.
	Grace time.Duration
	// Logger hears of a server's clock that was set back. Default: slog.Default.
	Logger *slog.Logger
}

const (
	// DefaultTTL is that of Options.
	DefaultTTL = 30 * time.Second
	minTTL     = 10 * time.Millisecond
)

func (o Options) complete() (Options, error) {
	switch {
	case o.TTL == 0:
		o.TTL = DefaultTTL
	case o.TTL < minTTL:
		return o, fmt.Errorf("redislock: Options.TTL %v; at least %v is needed, and %v is usual", o.TTL, minTTL, DefaultTTL)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}

// grace is the option as a session reads it: zero is off, negative a sixth of the TTL.
func (o Options) grace() time.Duration {
	switch {
	case o.Grace < 0:
		return 0
	case o.Grace == 0:
		return -1
	}
	return o.Grace
}
