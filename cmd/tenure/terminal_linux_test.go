package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What the terminal sends for these keys.
const (
	ctrlC = "\x03"
	ctrlZ = "\x1a"

	prompt = "your wish? "
)

// console is a terminal on which a program runs as the leader of its session: a shell, or the wrapper itself.
type console struct {
	*testing.T
	master *os.File
	mu     sync.Mutex
	seen   strings.Builder
	read   int // what was expected so far ends here
}

func newConsole(t *testing.T, program string, args ...string) *console {
	build(t)
	t.Parallel()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if program == "tenure" {
		program = built.tenure
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PS1="+prompt, "ENV=", "TENURE_STORE="+cmd.Dir, "PATH="+built.dir+":"+os.Getenv("PATH"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	c := &console{T: t, master: master}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1024)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return // the last process has left the terminal
			}
			c.mu.Lock()
			c.seen.Write(buf[:n])
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed, or has ended
		<-done
		_ = master.Close()
	})
	return c
}

// says waits for a text, behind what was waited for before.
func (c *console) says(text string) {
	c.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		c.mu.Lock()
		all := c.seen.String()
		at := strings.Index(all[c.read:], text)
		if at >= 0 {
			c.read += at + len(text)
		}
		c.mu.Unlock()
		if at >= 0 {
			return
		}
		if time.Now().After(end) {
			c.Fatalf("the terminal does not say %q:\n%s", text, all)
		}
	}
}

func (c *console) types(keys string) {
	c.Helper()
	if _, err := c.master.WriteString(keys); err != nil {
		c.Fatal(err)
	}
}

// stops presses Ctrl-Z, and waits for the shell. (What is typed sooner may be read by the command, before it stops.)
func (c *console) stops() {
	c.Helper()
	c.types(ctrlZ)
	c.says(prompt)
}

// asks types a line to the shell, and waits for the answer. The line itself is echoed, so the answer must not be in it.
func (c *console) asks(line, answer string) {
	c.Helper()
	c.types(line + "\n")
	c.says(answer)
}

// The command reads the terminal, and is ended by Ctrl-C, as if it ran without us.
func TestTerminalReadAndInterrupt(t *testing.T) {
	c := newConsole(t, "sh", "-i")
	c.asks(`tenure run x -- sh -c 'echo rea""dy; read line; echo "got <$line>"'`, "ready")
	c.asks("hello", "got <hello>")
	c.asks(`tenure run x -- sh -c 'echo rea""dy; exec sleep 60'`, "ready")
	c.types(ctrlC)
	c.asks(`echo st="$?"`, "st=130")
	c.asks(`tenure run -n x echo fr""ee`, "free")
}

// It is stopped by Ctrl-Z, and goes on where it was: in the foreground, or in the background until it wants to read.
func TestTerminalStopAndContinue(t *testing.T) {
	c := newConsole(t, "sh", "-i")
	c.asks(`tenure run x -- sh -c 'echo rea""dy; read line; echo "got <$line>"; read line; echo "got <$line>"'`, "ready")
	c.stops()
	c.asks("jobs", "topped")
	c.asks(`echo sh""ell`, "shell")
	c.types("fg\n")
	c.asks("one", "got <one>")
	c.stops()
	c.asks("bg", prompt)
	c.asks(`until jobs >state; grep -q topped state; do sleep 0.01; done; echo st""opped`, "stopped") // it wants to read
	c.types("fg\n")
	c.asks("two", "got <two>")
	c.asks(`echo st="$?"`, "st=0")
}

// In a pipeline and in a script we share our group with others, which keep the terminal until the command wants it.
func TestTerminalShared(t *testing.T) {
	c := newConsole(t, "sh", "-i")
	c.asks(`tenure run x -- sh -c 'echo rea""dy; read line; echo "got <$line>"' | cat`, "ready")
	c.asks("one", "got <one>")
	c.asks(`sh -c 'tenure run x -- sh -c "echo rea\"\"dy; read line; echo \"got <\$line>\""; read line; echo "and <$line>"'`, "ready")
	c.asks("two", "got <two>")
	c.asks("three", "and <three>")
	c.asks(`tenure run x -- sh -c 'echo rea""dy; exec sleep 60' | cat`, "ready")
	c.stops()
	c.types("fg\n")
	c.says("sleep")
	c.types(ctrlC)
	c.asks(`echo sh""ell`, "shell")
	c.asks(`until tenure run -n -q x true; do :; done; echo fr""ee`, "free")
}

// Where no shell could continue us, Ctrl-Z does not leave the command stopped for ever.
func TestTerminalWithoutShell(t *testing.T) {
	c := newConsole(t, "tenure", "run", "x", "--", "sh", "-c", `echo ready; read line; echo "got <$line>"`)
	c.says("ready")
	c.types(ctrlZ)
	c.types("hello\n")
	c.says("got <hello>")
}
