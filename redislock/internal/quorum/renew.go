package quorum

import "github.com/tenurelock/tenure/driver"

// renew begins a renewal at now, before anything is sent. The round is over as soon as a majority has said that the key is
// ours, which proves the lease from the round's sending; or that it is not, and then the lease is lost. Otherwise it has
// proved nothing.
func (s *state) renew(now driver.Instant) *round {
	r := &round{sent: now}
	if s.ended || s.lost || s.attempt.err != nil || !s.attempt.over || !now.Before(s.until) {
		r.end(driver.ErrNotOurs)
		return r
	}
	for node := range s.members {
		s.ask(now, node, opRenew, 0, r)
	}
	return r
}

// renewed takes the outcome of a renewal, also of one whose round is over. What came back empty is topped up once the round has
// proved the lease.
func (s *state) renewed(now driver.Instant, c call, a Answer, err error) {
	r := c.round
	if err == nil {
		s.members[c.node].empty = a.Standing == Free
	}
	yes, no := r.settle(s.majority, driver.Passing)
	switch {
	case yes && now.Before(s.until):
		s.until = max(s.until, r.sent.Add(s.ttl))
	case yes: // too late: nothing is revived
		r.err = driver.ErrNotOurs
		s.lost = true
	case no:
		s.lost = true // what is left is removed by the release, when nobody trusts it any more
	}
	if !r.over || r.err != nil || s.ended || s.lost || !now.Before(s.until) {
		return
	}
	for node := range s.members {
		s.topUp(now, node)
	}
}

// topUp takes the key on a node that has lost it, or never had it, while a majority keeps its word; so that the next node that
// fails is not one too many. It counts from the next renewal on only: a renewal itself never creates.
func (s *state) topUp(now driver.Instant, node int) {
	if m := &s.members[node]; m.empty && m.setting == 0 {
		m.empty = false
		s.ask(now, node, opAcquire, s.attempt.number, nil)
	}
}
