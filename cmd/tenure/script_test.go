//go:build linux || darwin

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts in testdata/script say what a user sees. Each has a store of its own.
func TestScripts(t *testing.T) {
	runScripts(t, "testdata/script", func(env *testscript.Env) error {
		env.Setenv("TENURE_STORE", filepath.Join(env.WorkDir, "locks"))
		return nil
	})
}

func runScripts(t *testing.T, dir string, setup func(*testscript.Env) error) {
	t.Helper()
	build(t)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", built.dir+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return setup(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status,
			"until":  until,
			"ends":   ends,
			"signal": send,
			"within": within,
		},
	})
}

// status N COMMAND… runs a command that must end with exit status N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exited *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exited):
		got = exited.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// until FILE… waits until the files have a line in them.
func until(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		wait(ts, name+" has a line", func() bool {
			text, err := os.ReadFile(ts.MkAbs(name))
			return err == nil && strings.HasSuffix(string(text), "\n")
		})
	}
}

// ends FILE… waits until the processes whose ids are in the files have ended; with "!" it says that they live.
func ends(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		pid := pidIn(ts, name)
		if neg && !living(pid) {
			ts.Fatalf("the process of %s has ended", name)
		}
		if !neg {
			wait(ts, "the process of "+name+" ends", func() bool { return !living(pid) })
		}
	}
}

// signal SIG FILE sends a signal to the process whose id is in the file.
func send(ts *testscript.TestScript, neg bool, args []string) {
	number, ok := map[string]syscall.Signal{
		"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "ABRT": syscall.SIGABRT, "ALRM": syscall.SIGALRM,
		"TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "KILL": syscall.SIGKILL,
		"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "PIPE": syscall.SIGPIPE,
	}[args[0]]
	if neg || len(args) != 2 || !ok {
		ts.Fatalf("usage: signal SIG file")
	}
	ts.Check(syscall.Kill(pidIn(ts, args[1]), number))
}

// within DURATION COMMAND… runs a command of a script, and wants it to take no longer.
func within(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	began := time.Now()
	status(ts, neg, args[1:])
	if took := time.Since(began); took > limit {
		ts.Fatalf("it took %v, want at most %v", took, limit)
	}
}

func pidIn(ts *testscript.TestScript, name string) int {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(name)))
	ts.Check(err)
	return pid
}

func wait(ts *testscript.TestScript, what string, so func() bool) {
	for end := time.Now().Add(patience); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("not within %v: %s", patience, what)
		}
	}
}
