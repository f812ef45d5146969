package main

import (
	"time"

	"github.com/tenurelock/tenure"
)

// settings are the flags of run.
type settings struct {
	store            address
	nonblock         bool
	wait             seconds
	conflict         int
	ttl, killAfter   seconds
	minHold, maxHold seconds
	oncePer          seconds
	slots            int
	shared, shell    bool
	quiet, verbose   bool

	given func(flag string) bool // whether it was on the command line
}

const (
	defaultTTL       = 30 * time.Second
	defaultKillAfter = 5 * time.Second
	// minTTL leaves enough time to start two processes and to end one.
	minTTL = 100 * time.Millisecond
	maxTTL = 24 * time.Hour

	maxSlots = 1024
)

// check says what does not fit together.
func (s *settings) check() error {
	ttl := time.Duration(s.ttl)
	switch {
	case s.nonblock && s.given("wait"):
		return usage("--nonblock and --wait: choose one")
	case s.conflict < 0 || s.conflict > 255:
		return usage("--conflict-exit-code %d: an exit status is between 0 and 255", s.conflict)
	case ttl < minTTL || ttl > maxTTL:
		return usage("--ttl %v: it must be between %v and %v", ttl, minTTL, maxTTL)
	case s.given("max-hold") && s.maxHold == 0:
		return usage("--max-hold 0: leave the flag out for no limit")
	case s.given("max-hold") && s.minHold > s.maxHold:
		return usage("--min-hold %v is longer than --max-hold %v", &s.minHold, &s.maxHold)
	case s.given("once-per") && time.Duration(s.oncePer) < time.Second:
		return usage("--once-per %v: a period is at least a second", time.Duration(s.oncePer))
	case s.given("slots") && s.shared:
		return usage("--slots and --shared: choose one; slots are exclusive, each of its own")
	case s.given("slots") && (s.slots < 1 || s.slots > maxSlots):
		return usage("--slots %d: a number between 1 and %d is right", s.slots, maxSlots)
	case (s.oncePer > 0 || s.minHold > 0) && (s.given("slots") || s.shared):
		return usage("--once-per and --min-hold are for one lock, and go neither with --slots nor with --shared")
	case s.quiet && s.verbose:
		return usage("--quiet and --verbose: choose one")
	}
	return nil
}

// fit settles the time from TERM to KILL: what was asked for, if it fits into the lease, or the default, or as much as fits. The
// options have for a TTL what a proof is good for, which is less where the store notices crashed holders early.
func (s *settings) fit(o tenure.Options) (time.Duration, error) {
	most := longestKillAfter(o)
	switch kill := time.Duration(s.killAfter); {
	case !s.given("kill-after"):
		return min(defaultKillAfter, most), nil
	case kill > most:
		if o.TTL < time.Duration(s.ttl) {
			return 0, usage("--kill-after %v does not fit: the store takes a holder for crashed after %v of silence, so at most %v are left; "+
				"a longer --ttl, a longer tenure_grace in the store's URL, or none, gives more", kill, o.TTL, most)
		}
		return 0, usage("--kill-after %v does not fit into --ttl %v: TERM would come before a renewal that failed could be tried again. "+
			"At most %v fit; %v need a --ttl of at least %v", kill, o.TTL, most, kill, shortestTTL(kill))
	default:
		return kill, nil
	}
}

// early is how long before the end of trust the group is killed: KILL takes a moment to be sent and to be carried out.
func early(ttl time.Duration) time.Duration {
	return min(max(ttl/50, 5*time.Millisecond), 50*time.Millisecond)
}

// longestKillAfter is how much of a lease is left for ending the command when a renewal has failed at its third, and an
// eighth more has gone by in trying again (the pause between tries is a twenty-fourth).
func longestKillAfter(o tenure.Options) time.Duration {
	trusted := o.TTL - time.Duration(float64(o.TTL)*o.Drift) - o.Margin
	return max(0, trusted-o.TTL/3-o.TTL/8-early(o.TTL)).Truncate(time.Millisecond)
}

// shortestTTL is a TTL into which a time from TERM to KILL fits, with the default drift and margin.
func shortestTTL(kill time.Duration) time.Duration {
	const drift, margin = 0.16, 50 * time.Millisecond
	left := 1 - drift - 1.0/3 - 1.0/8
	ttl := time.Duration(float64(kill+margin+50*time.Millisecond) / left)
	return ttl.Truncate(time.Second) + time.Second
}
