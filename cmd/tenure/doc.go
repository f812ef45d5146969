// Command tenure runs commands under locks, so that at most one of them runs at a time, on this machine or, with a store
// that several machines share, on all of them.
//
//	tenure run report/daily -- ./report --all
//
// The documentation is in docs/run.md, and in "tenure run --help".
package main
