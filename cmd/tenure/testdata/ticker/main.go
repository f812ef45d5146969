// Command ticker is the work that a lock should protect, in tests: it appends to a file the instants at which it ran, one
// a line, after a first line with its process id.
//
//	ticker [-deaf] FILE    -deaf: it does not end on SIGTERM
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	args := os.Args[1:]
	if args[0] == "-deaf" {
		signal.Ignore(syscall.SIGTERM)
		args = args[1:]
	}
	file, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(file, os.Getpid())
	for {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			panic(err)
		}
		fmt.Fprintln(file, now.Nano())
		time.Sleep(5 * time.Millisecond)
	}
}
