package main

import (
	"fmt"
	"os"
)

func main() { os.Exit(start()) }

// start is the whole program: a hidden role, or the command line.
func start() int {
	if status, hidden := role(); hidden {
		return status
	}
	root := newRoot()
	root.SetArgs(os.Args[1:])
	return report(root.Execute())
}

// report says what is wrong, if there is something to say, and gives the exit status.
func report(err error) int {
	status, text := judge(err)
	if text != "" {
		speak("%s", text)
	}
	return status
}

// speak writes a line of our own. Standard output belongs to the command that is run.
func speak(format string, args ...any) {
	quietly(func() { fmt.Fprintf(os.Stderr, "tenure: "+format+"\n", args...) })
}
