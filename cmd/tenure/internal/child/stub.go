//go:build linux || darwin

package child

import (
	"encoding/binary"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// aborted is the stub's exit status when it was not to go ahead. Nobody is told of it.
const aborted = 70

// Stub is the process that becomes the command. It returns only if that failed.
func Stub() int {
	if len(os.Args) < 4 {
		return aborted
	}
	ahead, err1 := strconv.Atoi(os.Args[1])
	report, err2 := strconv.Atoi(os.Args[2])
	if err1 != nil || err2 != nil {
		return aborted
	}
	unix.CloseOnExec(ahead)
	unix.CloseOnExec(report)
	if !told(ahead) {
		return aborted
	}
	errno := execute(os.Args[3:], os.Environ())
	_, _ = unix.Write(report, binary.LittleEndian.AppendUint32(nil, uint32(errno))) // the exit status says it too
	return Status(errno)
}

// told waits for the go-ahead, and says whether it came.
func told(pipe int) bool {
	for {
		n, err := unix.Read(pipe, make([]byte, 1))
		if !errors.Is(err, unix.EINTR) {
			return n == 1
		}
	}
}

// Status is what timeout(1) and the shells give for a command that cannot be run: 127 where there is none, 126 where there
// is one.
func Status(err error) int {
	if errors.Is(err, unix.ENOENT) {
		return 127
	}
	return 126
}
