package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	suspend "github.com/tenurelock/tenure/internal/process"
)

// Stop shuts the server down and returns once it has ended. The modes are those of pg_ctl: "smart" waits until all clients
// have gone, "fast" ends their sessions, "immediate" leaves without a checkpoint, so that the next start recovers. Stopping a
// server that does not run is no error.
func (p *Postgres) Stop(mode string) error {
	signals := map[string]os.Signal{"smart": syscall.SIGTERM, "fast": syscall.SIGINT, "immediate": syscall.SIGQUIT}
	signal, ok := signals[mode]
	if !ok {
		return fmt.Errorf("stop mode %q: it is smart, fast or immediate", mode)
	}
	return p.stop(signal)
}

// Kill ends the server and all its children as a crash does, and returns once none is left. Start recovers.
func (p *Postgres) Kill() error {
	running := p.current()
	if running == nil {
		return errors.New("kill postgres: it does not run")
	}
	if err := suspend.Stop(running.pid()); err != nil { // from here on it has no new children
		return err
	}
	orphans, err := children(running.pid())
	if err != nil {
		return err
	}
	for _, pid := range orphans {
		err = errors.Join(err, kill(pid))
	}
	return errors.Join(err, p.stop(os.Kill), p.gone(orphans))
}

// KillBackend kills one session's process, which must be the server's. The server then ends all others and recovers, as
// after any crash of one of its processes. KillBackend returns once all are gone; Ready waits until sessions can begin again.
func (p *Postgres) KillBackend(pid int) error {
	running := p.current()
	if running == nil {
		return errors.New("kill a backend: postgres does not run")
	}
	all, err := children(running.pid())
	if err != nil {
		return err
	}
	if !slices.Contains(all, pid) {
		return fmt.Errorf("kill a backend: %d is no process of the server %d", pid, running.pid())
	}
	return errors.Join(kill(pid), p.gone(all))
}

func (p *Postgres) gone(pids []int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return untilGone(ctx, pids)
}

// kill is for the children of our children. That one has ended meanwhile is no error.
func kill(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %d: %w", pid, err)
	}
	return nil
}

// removeSharedMemory removes what a killed server has left behind. The next start would do so, and there will be none.
func (p *Postgres) removeSharedMemory() error {
	lock, err := os.ReadFile(p.lockPath())
	if errors.Is(err, os.ErrNotExist) { // it was shut down
		return nil
	}
	if err != nil {
		return err
	}
	lines := strings.Split(string(lock), "\n")
	if len(lines) < 7 { // it did not get as far as to its shared memory
		return nil
	}
	var key, id int
	if _, err := fmt.Sscan(lines[6], &key, &id); err != nil {
		return nil //nolint:nilerr // the same
	}
	// That it is gone already is no error: a start that failed has removed it.
	_ = exec.Command("ipcrm", "-m", fmt.Sprint(id)).Run()
	return nil
}

func (p *Postgres) lockPath() string { return filepath.Join(p.data(), "postmaster.pid") }
