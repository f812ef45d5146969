//go:build linux && (mips || mipsle || mips64 || mips64le)

package terminal

// sigsetSize is what the kernel's sigset_t takes.
const sigsetSize = 16
