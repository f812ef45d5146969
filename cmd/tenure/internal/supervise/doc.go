// Package supervise runs one command under one lease: it starts the guardian and the command, passes on signals and the
// terminal, ends the command's process group before the lease can pass on, and says how it went.
//
// One goroutine does all of it, so that nothing happens between two of its steps.
package supervise
