package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/redislock/internal/script"
)

// batch is the most that one script renews: it keeps the server from everybody else for well under a millisecond.
const batch = 500

// renewing is one lease of a batch.
type renewing struct {
	*driver.Renewal
	claim *claim
}

// Renew proves grants. Most proofs rest on two things: the expiry at the server, pushed out every third of the TTL, and where
// there is a grace the session's own proof, which is needed more often and is one for all its leases. So a lease whose expiry is
// young is proved by the session's proof alone.
func (s *Store) Renew(ctx context.Context, all []driver.Renewal) {
	now := driver.Now()
	var old, young, readers []renewing
	s.mu.Lock()
	for i := range all {
		r := renewing{&all[i], s.claims[all[i].Acq]}
		r.Proof, r.Err = driver.Proof{}, nil
		switch c := r.claim; {
		case s.closed:
			r.Err = s.closedFault()
		case c == nil || c.state != held || c.grace > 0 && !c.sound:
			r.Err = driver.ErrNotOurs
		case c.grace > 0 && now.Sub(c.base) < c.terms.TTL/3-c.grace/3:
			young = append(young, r)
		case r.Mode == driver.Shared:
			readers = append(readers, r)
		default:
			old = append(old, r)
		}
	}
	s.mu.Unlock()
	done := make(chan struct{})
	running := 0
	start := func(f func()) {
		running++
		go func() { f(); done <- struct{}{} }()
	}
	for _, part := range s.grouped(old) {
		start(func() { s.renew(ctx, part) })
	}
	for _, r := range readers {
		start(func() { s.renewShared(ctx, r) })
	}
	if len(young) > 0 {
		start(func() { s.renewYoung(ctx, young) })
	}
	for range running {
		<-done
	}
}

// grouped makes parts of a batch that one script can renew: of bounded size, and in a Cluster of one slot.
func (s *Store) grouped(all []renewing) (parts [][]renewing) {
	if !s.opts.Cluster {
		for len(all) > batch {
			parts, all = append(parts, all[:batch]), all[batch:]
		}
		if len(all) > 0 {
			parts = append(parts, all)
		}
		return parts
	}
	bySlot := make(map[uint16][]renewing)
	for _, r := range all {
		slot := slotOf(r.Key)
		if bySlot[slot] = append(bySlot[slot], r); len(bySlot[slot]) == batch {
			parts = append(parts, bySlot[slot])
			delete(bySlot, slot)
		}
	}
	for _, part := range bySlot {
		parts = append(parts, part)
	}
	return parts
}

// renew pushes expiries out.
func (s *Store) renew(ctx context.Context, part []renewing) {
	keys := make([]string, len(part))
	args := make([]string, 0, 2+2*len(part))
	args = append(args, s.info.Session, flag(s.opts.Grace != 0))
	for i, r := range part {
		keys[i] = r.Key
		args = append(args, r.claim.owner, milliseconds(r.claim.terms.TTL))
	}
	result, sent := s.exec(ctx, script.Renew, keys, args)
	parts, err := result.ToArray()
	if err == nil && (len(parts) < 3 || len(text(parts[0])) != len(part)) {
		err = fmt.Errorf("an answer of %d parts", len(parts))
	}
	if err != nil {
		err = s.renewFault(err)
		for _, r := range part {
			r.Err = err
		}
		return
	}
	s.renewed(sent, parts, part)
}

// renewed takes the answer of a renewal.
func (s *Store) renewed(sent driver.Instant, parts []rueidis.RedisMessage, part []renewing) {
	s.looked(text(parts[1]), sent)
	s.looksAt(number(text(parts[len(parts)-1])), sent)
	ours := text(parts[0])
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range part {
		if ours[i] != '1' {
			r.Err = driver.ErrNotOurs
			continue
		}
		r.claim.base = max(r.claim.base, sent)
		s.prolong(r)
	}
}

// prolong fills in a proof, with mu held, if the claim's chain stands.
func (s *Store) prolong(r renewing) {
	if r.claim.grace > 0 && !r.claim.sound {
		r.Err = driver.ErrNotOurs
		return
	}
	r.Proof = s.proof(r.claim)
}

func (s *Store) renewShared(ctx context.Context, r renewing) {
	result, sent := s.exec(ctx, script.RenewShared, r.claim.keys, []string{r.claim.owner, milliseconds(r.claim.terms.TTL), flag(s.opts.Grace != 0)})
	parts, err := result.ToArray()
	if err == nil && len(parts) < 3 {
		err = fmt.Errorf("an answer of %d parts", len(parts))
	}
	if err != nil {
		r.Err = s.renewFault(err)
		return
	}
	s.renewed(sent, parts, []renewing{r})
}

// renewYoung proves leases by the session's proof.
func (s *Store) renewYoung(ctx context.Context, young []renewing) {
	if !s.prove(ctx) {
		err := passing(errors.New("the session could not be proved"))
		for _, r := range young {
			r.Err = err
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range young {
		s.prolong(r)
	}
}

// renewFault is passing: a renewal that failed proves nothing.
func (s *Store) renewFault(err error) error {
	fault := s.fault(0, err)
	var f *driver.Fault
	if errors.As(fault, &f) && f.Kind == driver.Unknown {
		return passing(f.Err)
	}
	return fault
}
