package session

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/rueidis"

	"github.com/tenurelock/tenure/driver"
)

func passing(err error) error { return &driver.Fault{Kind: driver.Passing, Err: err} }
func lasting(err error) error { return &driver.Fault{Kind: driver.Lasting, Err: err} }

func unknown(sent driver.Instant, err error) error {
	return &driver.Fault{Kind: driver.Unknown, Sent: sent, Err: err}
}

// refusals are the server's errors by their first words: a script that is refused so has not run.
var refusals = map[string]driver.Kind{
	"READONLY": driver.Passing, "LOADING": driver.Passing, "MASTERDOWN": driver.Passing, "CLUSTERDOWN": driver.Passing, "TRYAGAIN": driver.Passing,
	"MOVED": driver.Passing, "ASK": driver.Passing, "BUSY": driver.Passing, "NOREPLICAS": driver.Passing, "MISCONF": driver.Passing,
	"OOM": driver.Passing, "NOSCRIPT": driver.Passing,
	"NOPERM": driver.Lasting, "NOAUTH": driver.Lasting, "WRONGPASS": driver.Lasting, "CROSSSLOT": driver.Lasting,
}

// reasons say what to do about some of them.
var reasons = map[string]string{
	"NOREPLICAS": "the server refuses writes, renewals and releases among them, since too few replicas are connected (min-replicas-to-write)",
	"MISCONF":    "the server refuses writes, since it cannot save its data (stop-writes-on-bgsave-error)",
	"OOM":        "the server's memory is full (maxmemory)",
}

// fault says of what kind an error is of something that was sent then.
func (s *Store) fault(sent driver.Instant, err error) error {
	if answer, is := rueidis.IsRedisErr(err); is {
		word, _, _ := strings.Cut(strings.TrimPrefix(answer.Error(), "ERR "), " ")
		about := fmt.Errorf("%s: %w", s.opts.Address, err)
		if reason, found := reasons[word]; found {
			about = fmt.Errorf("%s: %s: %w", s.opts.Address, reason, err)
		}
		kind, found := refusals[word]
		if !found {
			return unknown(0, about) // it was answered, and may have run in part
		}
		return &driver.Fault{Kind: kind, Err: about}
	}
	about := fmt.Errorf("%s: %w", s.opts.Address, err)
	var dial *net.OpError
	switch {
	case errors.Is(err, rueidis.ErrClosing) && s.clientIsClosed():
		return lasting(fmt.Errorf("%s: the client is %w", s.opts.Address, driver.ErrClosed))
	case errors.As(err, &dial) && dial.Op == "dial":
		return passing(about)
	}
	return unknown(sent, about)
}

// clientIsClosed says whether the client is closed that has said so. One of Sentinels or a Cluster says the same of a connection
// to a server that is none of its servers any more.
func (s *Store) clientIsClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || s.client.Mode() == rueidis.ClientModeStandalone
}

// forbidden says whether the user may not do what was asked.
func forbidden(err error) bool {
	answer, is := rueidis.IsRedisErr(err)
	return is && strings.HasPrefix(answer.Error(), "NOPERM")
}
