// Package child starts the command in a process group of its own, and watches it stop, go on and end.
//
// The command begins as a stub: this program again, which waits on a pipe. So its group exists before the command does,
// and the guardian can be told of it first. If the pipe ends without the go-ahead, because the wrapper was killed, the stub
// ends; on the go-ahead it becomes the command by execve, with the signals, descriptors and limits that the command would
// have had without us.
package child
