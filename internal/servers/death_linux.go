package servers

import (
	"os/exec"
	"syscall"
)

// dieWithUs has the command get the signal when the thread that starts it ends, so at the latest when this process dies.
func dieWithUs(command *exec.Cmd, signal syscall.Signal) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = signal
}
