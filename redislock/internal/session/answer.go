package session

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/tenurelock/tenure/driver"
)

// answer is what acquire.lua and ask.lua say.
type answer struct {
	what   string
	text   string // a number, or the value of the lock
	n      int64  // the index of the lock, or what is left of it in ms
	more   string // since when, or the lock's state, or the place in the queue
	proved bool
	at     int64 // the server's clock, in µs
	full   bool  // the TTL runs from now
	place  int   // in the queue
	sent   driver.Instant
}

// exec runs a script. The instant is from before its sending.
func (s *Store) exec(ctx context.Context, script *rueidis.Lua, keys, args []string) (rueidis.RedisResult, driver.Instant) {
	sent := driver.Now()
	return script.Exec(ctx, s.client, keys, args), sent
}

// question runs acquire.lua or ask.lua.
func (s *Store) question(ctx context.Context, script *rueidis.Lua, keys, args []string) (a answer, err error) {
	result, sent := s.exec(ctx, script, keys, args)
	parts, err := result.ToArray()
	if err != nil {
		return a, s.fault(sent, err)
	}
	if len(parts) < 6 {
		return a, unknown(0, fmt.Errorf("%s: an answer of %d parts", s.opts.Address, len(parts)))
	}
	a.sent = sent
	a.what, a.text = text(parts[0]), text(parts[1])
	a.n = number(text(parts[2]))
	a.more = text(parts[3])
	a.proved = text(parts[4]) == "1"
	a.at = number(text(parts[5]))
	if len(parts) > 6 {
		a.place = int(number(text(parts[6])))
		a.full = a.place == 1
	}
	s.looked(text(parts[4]), sent)
	s.looksAt(a.at, sent)
	if a.what == "queued" || a.what == "held" {
		s.disown(keys, a.text)
	}
	return a, nil
}

// looked takes what a script says of the session's subscription: "1" if it saw it, "0" if it did not; else it did not look.
func (s *Store) looked(seen string, sent driver.Instant) {
	switch seen {
	case "1":
		s.proves(sent)
	case "0":
		s.unseen(sent)
	}
}

func text(m rueidis.RedisMessage) string {
	if m.IsInt64() {
		n, _ := m.AsInt64()
		return strconv.FormatInt(n, 10)
	}
	t, _ := m.ToString()
	return t
}
