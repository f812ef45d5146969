//go:build unix

package proof

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	ChildMain(anywhere)
	goleak.VerifyTestMain(m)
}
