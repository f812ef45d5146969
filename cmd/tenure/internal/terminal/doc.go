// Package terminal shares the controlling terminal between us and the command, as a shell does it between its jobs: one
// process group is in the foreground, reads the terminal and gets what Ctrl-C, Ctrl-\ and Ctrl-Z send.
package terminal
