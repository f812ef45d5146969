package proof

import (
	"context"
	"fmt"
	"sync"

	"github.com/tenurelock/tenure"
)

// Resource is what locks protect: registers, one a name, that are written under a fence.
type Resource interface {
	// Write sets the register of the fence's name, or says why not with a [tenure.StaleError].
	Write(ctx context.Context, fence tenure.Fence, value string) error
	// Read gives what was written last, and under which token: "" and zero at first.
	Read(ctx context.Context, name string) (value string, token tenure.Token, err error)
}

// Registers is a Resource in this process.
type Registers struct {
	unguarded bool

	mu    sync.Mutex
	named map[string]registerState
}

// NewRegisters makes registers that refuse a fence whose token is lower than the highest they have seen.
func NewRegisters() *Registers { return &Registers{named: make(map[string]registerState)} }

// NewUnguardedRegisters makes registers that take every write. It shows what a lock alone cannot prevent.
func NewUnguardedRegisters() *Registers {
	r := NewRegisters()
	r.unguarded = true
	return r
}

// Write implements [Resource].
func (r *Registers) Write(_ context.Context, fence tenure.Fence, value string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, err := r.named[fence.Name].write(fence, value, r.unguarded)
	if err == nil {
		r.named[fence.Name] = next
	}
	return err
}

// Read implements [Resource].
func (r *Registers) Read(_ context.Context, name string) (string, tenure.Token, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.named[name]
	return state.value, state.token, nil
}

// write is the guard: four lines, all that a resource needs.
func (s registerState) write(fence tenure.Fence, value string, unguarded bool) (registerState, error) {
	if fence.IsZero() {
		return s, fmt.Errorf("a write to %q under no fence: %w", fence.Name, tenure.ErrStale)
	}
	if fence.Token < s.token && !unguarded {
		return s, &tenure.StaleError{Fence: fence, Newest: s.token}
	}
	return registerState{fence.Token, value}, nil
}
