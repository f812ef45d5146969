//go:build unix

package servers

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is who servers run as. PostgreSQL and PgBouncer refuse to run as root, and everybody else can only be oneself.
type account struct{ credential *syscall.Credential }

func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		return account{}, fmt.Errorf("servers refuse to run as root, and there is nobody to be instead (run scripts/install): %w", err)
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return account{}, err
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return account{}, err
	}
	return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// run makes the command run as the account.
func (a account) run(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}
}

// own hands a file to the account.
func (a account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	return os.Lchown(path, int(a.credential.Uid), int(a.credential.Gid))
}
