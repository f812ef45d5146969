//go:build unix

package locktest

import "syscall"

// canStop says whether a process can be stopped and continued here.
const canStop = true

func (c *child) stop() { c.t.no(c.cmd.Process.Signal(syscall.SIGSTOP), "stop a child") }

func (c *child) resume() { c.t.no(c.cmd.Process.Signal(syscall.SIGCONT), "let a child go on") }
