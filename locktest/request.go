package locktest

import (
	"time"

	"github.com/tenurelock/tenure/driver"
)

// option changes a request.
type option func(*driver.Request)

func shared(r *driver.Request) { r.Mode = driver.Shared }

// lasting is for claims of a brief session.
func lasting(ttl time.Duration) option {
	return func(r *driver.Request) { r.Terms = termsOf(ttl) }
}

func oncePer(period time.Duration) option {
	return func(r *driver.Request) { r.OncePer = period }
}

func gap(length time.Duration) option {
	return func(r *driver.Request) { r.Gap = length }
}

func numbered(acq uint64) option {
	return func(r *driver.Request) { r.Acq = acq }
}

func describedAs(note string) option {
	return func(r *driver.Request) {
		holder := *r.Holder
		holder.Note = note
		r.Holder = &holder
	}
}

func termsOf(ttl time.Duration) driver.Terms {
	return driver.Terms{TTL: ttl, Drift: 0.16, Margin: min(50*time.Millisecond, ttl/4)}
}

// span is how long a proof is trusted by the terms that rules use.
func span(valid time.Duration) time.Duration {
	terms := termsOf(valid)
	return valid - time.Duration(float64(valid)*terms.Drift) - terms.Margin
}
