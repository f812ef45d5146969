package tenure

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/internal/trust"
)

const (
	minTTL = 10 * time.Millisecond
	maxTTL = 24 * time.Hour

	// longestHold is beyond any use, and far from the end of the clock.
	longestHold = 100 * 365 * 24 * time.Hour

	defaultDrift  = 0.16 // both sides may slew by 8.3%
	defaultMargin = 50 * time.Millisecond
)

// Options are a Locker's. The zero value is good.
type Options struct {
	// TTL is how long the store keeps a lease that nobody renews; renewals come at a third of it. Default: the store's.
	// Between 10 ms and 24 h. A short TTL frees a stalled holder's name sooner, and bears shorter outages of the store.
	TTL time.Duration
	// Drift is the fraction of the TTL by which the clocks here and at the store may run apart. Default 0.16; zero stands
	// for that.
	Drift float64
	// Margin is kept free between the end of trust and the end of the grant, for scheduling. Default 50 ms, or a quarter
	// of the TTL if that is less.
	Margin time.Duration
	// MaxHold ends a lease that is held for longer, even while its renewals succeed: the work has wedged. Its context
	// ends then; the name is given back at Release, or when the last proof runs out. Default 0: no limit.
	MaxHold time.Duration
	// MinHold waits until the name was granted at least so long ago to a Locker with MinHold or OncePer, even if the work
	// ended sooner; by the store's clock. Lockers without either are neither kept out nor counted. Default 0.
	MinHold time.Duration
	// OncePer grants a name at most once in each period of that length (counted from 1970 on the store's clock): in the rest
	// of the period in which it was granted to a Locker with OncePer or MinHold, acquiring fails with [ErrDone]. Others are
	// neither kept out nor counted. Default 0.
	OncePer time.Duration
	// NoHandoff gives every lease back to the store, instead of handing it to the next caller in this process.
	NoHandoff bool
	// Require names promises without which New refuses the store.
	Require Guarantee
	// Holder describes this program to others. Default: host, process id and program name.
	Holder *Holder
	// Observer hears what happens. Default: nobody.
	Observer *Observer
	// Logger gets what an operator must know: lost leases, failing renewals, clean-ups that fail. Default: slog.Default().
	Logger *slog.Logger
}

// Guarantee is one promise of a store. See [Guarantees].
type Guarantee = driver.Guarantee

// The promises that [Options.Require] can name.
const (
	FencingSurvivesCrash    = driver.FencingSurvivesCrash
	FencingSurvivesFailover = driver.FencingSurvivesFailover
	LockSurvivesCrash       = driver.LockSurvivesCrash
	LockSurvivesFailover    = driver.LockSurvivesFailover
	StalledHolderFreed      = driver.StalledHolderFreed
	FirstInFirstOut         = driver.FirstInFirstOut
)

// Guarantees says what a store's word is worth.
type Guarantees = driver.Guarantees

// Holder describes who holds a name.
type Holder = driver.Holder

// complete fills in the defaults and says what is wrong.
func (o Options) complete(info driver.Info) (Options, error) {
	if o.TTL == 0 {
		o.TTL = info.TTL
	}
	if o.Drift == 0 {
		o.Drift = defaultDrift
	}
	if o.Margin == 0 {
		o.Margin = min(defaultMargin, o.TTL/4)
	}
	if o.Holder == nil {
		self := driver.Self()
		o.Holder = &self
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Observer == nil {
		o.Observer = &Observer{}
	}
	return o, o.check(info)
}

func (o Options) check(info driver.Info) error {
	switch {
	case o.TTL < minTTL || o.TTL > maxTTL:
		return invalid("a TTL of %v: it must be between %v and %v (a bare number is nanoseconds)", o.TTL, minTTL, maxTTL)
	case info.FixedTTL && o.TTL != info.TTL:
		return invalid("a TTL of %v: it belongs to the session with this store, which was opened with %v: open the store with the TTL that you want", o.TTL, info.TTL)
	case o.Drift < 0 || o.Drift >= 1 || o.Drift != o.Drift:
		return invalid("a drift of %v: it is a fraction of the TTL, at least 0 and below 1", o.Drift)
	case o.Margin < 0:
		return invalid("a margin of %v: it cannot be negative", o.Margin)
	case trust.Span(o.terms(), info.Validity(o.terms())) < info.Validity(o.terms())/2:
		return o.tooLittle(info.Validity(o.terms()))
	case o.MaxHold < 0:
		return invalid("a MaxHold of %v: it cannot be negative; 0 sets no limit", o.MaxHold)
	case o.MinHold < 0:
		return invalid("a MinHold of %v: it cannot be negative", o.MinHold)
	case o.MaxHold > 0 && o.MinHold > o.MaxHold:
		return invalid("a MinHold of %v above the MaxHold of %v", o.MinHold, o.MaxHold)
	case o.OncePer < 0:
		return invalid("OncePer %v: a period cannot be negative", o.OncePer)
	case o.OncePer > 0 && o.OncePer < time.Second:
		return invalid("OncePer %v: a period is at least a second", o.OncePer)
	case !info.Guarantees.Promises.Has(o.Require):
		return fmt.Errorf("tenure: the %s store does not promise %v, which Options.Require asks for (see docs/guarantees.md): %w",
			info.Kind, o.Require&^info.Guarantees.Promises, ErrUnsupported)
	case (o.MinHold > 0 || o.OncePer > 0) && !info.Features.Has(driver.CanRemember):
		return fmt.Errorf("tenure: the %s store keeps no memory of past runs, so MinHold and OncePer are %w", info.Kind, ErrUnsupported)
	}
	return nil
}

// tooLittle says that too little of what a proof is good for can be trusted.
func (o Options) tooLittle(valid time.Duration) error {
	left := max(0, trust.Span(o.terms(), valid))
	if valid == o.TTL {
		return invalid("a TTL of %v with drift %v and margin %v leaves %v of trusted time, too little to renew and try again: it must be at least half the TTL",
			o.TTL, o.Drift, o.Margin, left)
	}
	return invalid("with a TTL of %v this store's proofs are good for %v, of which drift %v and margin %v leave %v of trusted time, too little to renew and try again: it must be at least half",
		o.TTL, valid, o.Drift, o.Margin, left)
}

func (o Options) terms() driver.Terms {
	return driver.Terms{TTL: o.TTL, Drift: o.Drift, Margin: o.Margin}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("tenure: "+format+": %w", append(args, ErrInvalid)...)
}
