//go:build !unix

package servers

import "os/exec"

// account is who servers run as: here always oneself.
type account struct{}

func serverAccount() (account, error) { return account{}, nil }

func (account) run(*exec.Cmd)    {}
func (account) own(string) error { return nil }
