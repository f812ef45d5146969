package tenure

import (
	"fmt"
	"strconv"

	"github.com/tenurelock/tenure/driver"
)

// handoffBits is how many low bits of a token number the hand-offs inside one grant.
const handoffBits = 8

// maxHandoffs is how often one grant is handed on inside a process.
const maxHandoffs = 1<<handoffBits - 1

// Token is a fencing token. It rises with every lease of a name, and is never issued twice. It is opaque: compare it,
// store it, send it, and read nothing out of it.
//
// Tokens exceed 2^53, so a double does not hold one: JSON carries it as a string of digits, and a database column for it
// is a bigint.
type Token int64

func newToken(grant int64, handoff int) Token {
	return Token(grant<<handoffBits | int64(handoff))
}

// ParseToken reads a token from its decimal digits.
func ParseToken(digits string) (Token, error) {
	value, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || value <= 0 {
		return 0, fmt.Errorf("%w: %q is no token: a token is a whole number between 1 and 9223372036854775807", ErrInvalid, digits)
	}
	return Token(value), nil
}

// String gives the decimal digits.
func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

// MarshalText gives the decimal digits, so that JSON carries a string.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (t *Token) UnmarshalText(text []byte) error {
	parsed, err := ParseToken(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// Fence is what travels with a write: the name that the writer holds, and the token of its lease. A guard at the
// resource refuses a fence whose token is lower than the highest that it has seen for the name.
//
// The zero Fence is no fence; every guard refuses it. [Lease.Fence] gives it once the lease is over.
type Fence struct {
	Name  string `json:"name"`
	Token Token  `json:"token"`
}

// IsZero says whether it is no fence.
func (f Fence) IsZero() bool { return f.Token == 0 }

// String gives "name#token" for logs.
func (f Fence) String() string {
	if f.IsZero() {
		return "no fence (the lease was over)"
	}
	return f.Name + "#" + f.Token.String()
}

var _ = [1]struct{}{}[driver.MaxNumber>>(63-handoffBits)] // a token stays positive
