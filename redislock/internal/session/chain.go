package session

import (
	"fmt"
	"time"

	"github.com/tenurelock/tenure/driver"
)

// chain is an unbroken row of proofs that the session lives, for all claims that bear the same silence. A proof is a script
// that found the session's own subscription and removed its mark: no mark that survives was set before it ran, so nobody can
// take a name over before a grace has passed since its sending.
//
// A chain starts only with a script that saw the claim's own lease or wait too. Other proofs prolong it (R9). Once it is
// broken, it stays so for the claims that rested on it.
type chain struct {
	sent   driver.Instant // of its last proof; zero: there is none
	grace  time.Duration  // of the claims
	epoch  uint64         // counts its breaks
	claims int
}

// silence is how long a claim bears to hear nothing: its grace as the server may measure it, without the margin.
func (c *claim) silence() time.Duration {
	return time.Duration(float64(c.grace)*(1-c.terms.Drift)) - c.terms.Margin
}

// proof is a proof's word for a claim, as it counts from its base and from the chain; both are known to hold. It is given as
// from the chain's last sending: that is trusted for as long as both.
func (s *Store) proof(c *claim) driver.Proof {
	if c.grace == 0 {
		return driver.Proof{Sent: c.base, Valid: c.terms.TTL}
	}
	from := s.chains[c.silence()].sent
	if from < c.base { // the proof in the same script, at the latest
		from = c.base
	}
	since := time.Duration(float64(from.Sub(c.base)) / (1 - c.terms.Drift))
	return driver.Proof{Sent: from, Valid: max(0, min(c.grace, c.terms.TTL-since))}
}

// chained has a claim rest on its chain, with mu held: one script, sent then, has seen the session's subscription, removed its
// mark, and found the claim's lease or wait.
func (s *Store) chained(c *claim, sent driver.Instant) {
	if c.grace == 0 {
		return
	}
	k := s.chains[c.silence()]
	if k == nil {
		k = &chain{grace: c.grace}
		s.chains[c.silence()] = k
	}
	if k.sent.IsZero() {
		s.nudge() // proofs are due from now on
	}
	if k.sent = max(k.sent, sent); c.epoch == 0 {
		k.claims++
	}
	c.epoch, c.sound = k.epoch+1, true // zero is no epoch
}

// unchain lets go of a chain, with mu held.
func (s *Store) unchain(c *claim) {
	if c.epoch == 0 {
		return
	}
	c.epoch, c.sound = 0, false
	k := s.chains[c.silence()]
	if k.claims--; k.claims == 0 {
		delete(s.chains, c.silence())
	}
}

// proves notes an answered proof that was sent then. A chain whose time was over by now is broken, even if nobody noticed before.
func (s *Store) proves(sent driver.Instant) {
	now := driver.Now()
	var lost []driver.Watcher
	s.mu.Lock()
	s.proved = max(s.proved, sent)
	for silence, k := range s.chains {
		if k.sent.IsZero() || now.Sub(k.sent) < silence {
			if !k.sent.IsZero() {
				k.sent = max(k.sent, sent)
			}
			continue
		}
		k.epoch++
		k.sent = 0
		for _, c := range s.claims {
			if c.epoch == 0 || !c.sound || c.silence() != silence {
				continue
			}
			c.sound = false
			switch c.state {
			case held:
				c.told = true
				lost = append(lost, c.watch)
			case waiting:
				c.next = now // it asks before it trusts
			}
		}
	}
	s.mu.Unlock()
	for _, w := range lost {
		w.Lost(fmt.Errorf("%s could not be reached for the grace: others may have taken the lease over", s.opts.Address))
	}
}
