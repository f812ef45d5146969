//go:build linux || darwin

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/cmd/tenure/internal/supervise"
	"github.com/tenurelock/tenure/driver"
)

// closing bounds what is left to do when the command has ended and the lock is given back.
const closing = 2 * time.Second

// performance is one "tenure run".
type performance struct {
	*settings
	name    string
	command []string
	holder  tenure.Holder
	signals <-chan os.Signal
	renewed chan struct{}
}

// perform acquires the lock, runs the command, and gives the lock back.
func perform(s *settings, name string, command []string) error {
	p := &performance{settings: s, name: name, command: command, renewed: make(chan struct{}, 1)}
	p.holder = driver.Self()
	p.holder.Program = filepath.Base(command[0]) // never the arguments, which may be secrets
	signals := supervise.Listen()
	p.signals = signals
	slog.SetDefault(p.logger())
	a, err := p.acquire()
	if err != nil {
		return err
	}
	lease := a.lease
	a.lease = nil // it is released when the command has ended
	defer p.leave(a)
	return p.under(lease, a.kill)
}

func (p *performance) close(what func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	if err := what(ctx); err != nil {
		p.debug("%v", err)
	}
}

func (p *performance) options() tenure.Options {
	return tenure.Options{
		TTL:     time.Duration(p.ttl),
		MinHold: time.Duration(p.minHold),
		OncePer: time.Duration(p.oncePer),
		Holder:  &p.holder,
		Logger:  p.logger(),
		Observer: &tenure.Observer{
			Wait:        p.waiting(),
			Unavailable: p.inTrouble(),
			Renew: func(_ *tenure.Lease, err error) {
				p.debug("renewal: %s", said(err))
				select {
				case p.renewed <- struct{}{}:
				default: // one is noted already
				}
			},
		},
	}
}

// under runs the command while the lease is held, and gives it back.
func (p *performance) under(lease *tenure.Lease, kill time.Duration) error {
	p.debug("%q is ours, with token %v", lease.Name(), lease.Token())
	out, err := supervise.Run(supervise.Task{
		Command: p.command,
		Env:     p.environment(lease),
		Lease:   lease,
		Renewed: p.renewed,
		Signals: p.signals,
		Grace:   kill,
		Early:   early(time.Duration(p.ttl)),
		MaxHold: time.Duration(p.maxHold),
		Say:     speak,
		Debug:   p.debug,
	})
	released := lease.Release(context.Background())
	p.debug("released: %s", said(released))
	if err != nil {
		return notStarted(err)
	}
	if out.NotRun != nil {
		speak("cannot run %q: %v", p.command[0], out.NotRun)
	}
	return exit(p.status(out, released))
}

// status is what the program ends with.
func (p *performance) status(out supervise.Outcome, released error) int {
	lost := errors.Is(released, tenure.ErrLost)
	if released != nil && (!lost || out.Reason == supervise.Finished) { // or it was said
		speak("%s", strings.TrimPrefix(released.Error(), "tenure: "))
	}
	switch {
	case out.Reason == supervise.NoGuardian && !lost:
		return statusInternal
	case out.Reason != supervise.Finished, lost:
		return statusLost
	}
	return out.Status
}

// notStarted gives the status of a command that never was.
func notStarted(err error) error {
	var interrupted supervise.Interrupted
	switch {
	case errors.As(err, &interrupted):
		return exit(128 + int(interrupted.Signal))
	case errors.Is(err, tenure.ErrLost):
		return &failure{statusLost, err}
	case errors.Is(err, unix.E2BIG):
		return &failure{126, err}
	}
	return &failure{statusInternal, err}
}

// environment is the command's: ours, and what it may want to know of its lease.
func (p *performance) environment(lease *tenure.Lease) []string {
	ours := []string{
		"TENURE_LOCK=" + lease.Name(),
		"TENURE_TOKEN=" + lease.Token().String(),
		"TENURE_HOLDER=" + p.holder.String(),
		"TENURE_TTL=" + plain(time.Duration(p.ttl)),
	}
	env := ours
	for _, entry := range os.Environ() {
		if !isOurs(entry, ours) { // of a run around this one
			env = append(env, entry)
		}
	}
	return env
}

func isOurs(entry string, ours []string) bool {
	name, _, _ := strings.Cut(entry, "=")
	for _, other := range ours {
		if strings.HasPrefix(other, name+"=") {
			return true
		}
	}
	return false
}

func (p *performance) debug(format string, args ...any) {
	if p.verbose {
		speak(format, args...)
	}
}

// logger is for what the library says to operators. We say it ourselves, in fewer words.
func (p *performance) logger() *slog.Logger {
	if !p.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(writer(func(b []byte) {
		speak("%s", strings.TrimRight(string(b), "\n"))
	}), nil))
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

var _ io.Writer = writer(nil)

func said(err error) string {
	if err == nil {
		return "done"
	}
	return fmt.Sprint(err)
}
