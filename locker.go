package tenure

import (
	"context"
	"reflect"
	"unicode/utf8"

	"github.com/tenurelock/tenure/driver"
)

const (
	maxName  = 512
	maxSlots = 1024
)

// Locker acquires leases from one store. All its methods may be called from many goroutines. Lockers over one store share
// the queue inside the process, so they exclude each other as two processes would.
type Locker struct {
	s     *session
	group *group
	given Options // before the defaults
	opts  Options
	terms driver.Terms
	mode  driver.Mode
	slots int
}

// New makes a Locker over a store. It refuses settings that cannot work, and a store that lacks what opts.Require names.
// Close the Locker before the store.
func New(store driver.Store, opts Options) (*Locker, error) {
	if isNil(store) {
		return nil, invalid("a nil store: open one first, for example with filelock.Open or memlock.New")
	}
	s := attach(store)
	full, err := opts.complete(s.info)
	if err != nil {
		return nil, err
	}
	return &Locker{s: s, group: newGroup(), given: opts, opts: full, terms: full.terms()}, nil
}

func isNil(store driver.Store) bool {
	if store == nil {
		return true
	}
	v := reflect.ValueOf(store)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// With gives a copy of the Locker whose options were changed by change, which is shown them as they were given to New: a
// zero still stands for the default. Copies share Close.
func (l *Locker) With(change func(*Options)) (*Locker, error) {
	if change == nil {
		return nil, invalid("With(nil): give it a function that changes the options")
	}
	given := l.given
	change(&given)
	full, err := given.complete(l.s.info)
	if err != nil {
		return nil, err
	}
	changed := *l
	changed.given, changed.opts, changed.terms = given, full, full.terms()
	return &changed, nil
}

// Shared gives a copy whose leases are shared: readers beside each other, but not beside an exclusive holder. A waiting
// exclusive caller holds back later readers. Readers have tokens too, but a guard is for writers.
func (l *Locker) Shared() *Locker {
	shared := *l
	shared.mode, shared.slots = driver.Shared, 0
	return &shared
}

// Slots gives a copy whose leases are each one of n slots of the name: at most n holders at once. A slot lease is an
// exclusive lease of its own name ("pool#3"), with its own tokens, which [Lease.Name] tells. Every process should ask for
// the same n. N must be between 1 and 1024, or acquiring says [ErrInvalid].
func (l *Locker) Slots(n int) *Locker {
	slotted := *l
	slotted.mode, slotted.slots = driver.Exclusive, n
	if n == 0 {
		slotted.slots = -1 // refused when it is used; zero means no slots
	}
	return &slotted
}

// Guarantees says what the store's word is worth, as far as New saw of the real server.
func (l *Locker) Guarantees() Guarantees { return l.s.info.Guarantees }

// Options gives the Locker's options, with their defaults filled in.
func (l *Locker) Options() Options { return l.opts }

// Acquire waits until it is granted the name, or ctx ends. Ctx bounds the wait and never the hold.
//
// On success the lease is held, and renewed until it is released or lost: call [Lease.Release]. On failure nothing is
// held. When ctx ends first, the error matches its error, and [ErrHeld] if the name was held, which names the holder
// ([HeldError]); [ErrUnavailable] if the store was out of reach. Passing faults of the store are waited out; lasting ones
// (no permission, not supported) return at once. [ErrDone] returns at once, [ErrClosed] when the Locker is closed.
func (l *Locker) Acquire(ctx context.Context, name string) (*Lease, error) {
	return l.acquire(ctx, name, true)
}

// TryAcquire asks for the name once. It is granted, or the error is [ErrHeld] at once, with the holder ([HeldError]).
// Otherwise as Acquire, but it never hangs: [ErrUnavailable] comes within the smaller of 5 s and a third of the TTL.
func (l *Locker) TryAcquire(ctx context.Context, name string) (*Lease, error) {
	return l.acquire(ctx, name, false)
}

// check says what is wrong with a call, before anything is asked, and gives the store's key.
func (l *Locker) check(name string) (key string, err error) {
	switch {
	case name == "":
		return "", invalid("an empty name: give the lock a name, such as \"report/daily\"")
	case len(name) > maxName:
		return "", invalid("a name of %d bytes: at most %d are allowed; use a hash of the long part", len(name), maxName)
	case !utf8.ValidString(name):
		return "", invalid("the name %q: it must be valid UTF-8", name)
	case hasNUL(name):
		return "", invalid("the name %q: it must not contain a NUL byte", name)
	case l.slots < 0 || l.slots > maxSlots:
		return "", invalid("%d slots: a number between 1 and %d is right", max(l.slots, 0), maxSlots)
	case l.slots > 0 && len(slotName(name, l.slots)) > maxName:
		return "", invalid("a name of %d bytes, too long for its slots' names: at most %d bytes are allowed with the slot's number", len(name), maxName)
	case l.mode == driver.Shared && !l.s.info.Features.Has(driver.CanShare):
		return "", driver.Unsupported("shared leases on the " + l.s.info.Kind + " store")
	case l.slots > 0 && !l.s.info.Features.Has(driver.CanSlots):
		return "", driver.Unsupported("slots on the " + l.s.info.Kind + " store")
	case (l.opts.OncePer > 0 || l.opts.MinHold > 0) && (l.slots > 0 || l.mode == driver.Shared):
		return "", driver.Unsupported("OncePer and MinHold with shared leases or slots")
	}
	key, err = l.s.store.Key(name)
	if err != nil {
		return "", invalid("the name %q: %w", name, err)
	}
	return key, nil
}

func hasNUL(name string) bool {
	for i := range len(name) {
		if name[i] == 0 {
			return true
		}
	}
	return false
}
